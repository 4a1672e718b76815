//! As much of a browser as a sign-in needs: redirects, forms, and cookies with their host, path, age and site.

use http::header;
use reqwest::redirect::Policy;
use url::Url;

#[derive(Debug, Clone)]
struct Cookie {
    host: String,
    path: String,
    name: String,
    value: String,
    same_site: String,
}

/// A page that was reached.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Page {
    /// What stands behind `#sign-in-failed=`.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.url.fragment()?.strip_prefix("sign-in-failed=")?.split('&').next()
    }
}

#[derive(Debug)]
pub(crate) struct Browser {
    client: reqwest::Client,
    cookies: Vec<Cookie>,
    /// Every address that was asked for.
    pub(crate) visited: Vec<Url>,
    /// What servers wanted kept.
    pub(crate) set: Vec<String>,
}

impl Browser {
    #[expect(clippy::disallowed_methods, reason = "a browser of its own, for tests")]
    pub(crate) fn new() -> Self {
        let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { client, cookies: Vec::new(), visited: Vec::new(), set: Vec::new() }
    }

    /// Somebody types an address.
    pub(crate) async fn open(&mut self, url: &str) -> Page {
        self.go(url.parse().unwrap(), None, None).await
    }

    /// Somebody follows a link of another site's page.
    pub(crate) async fn lured_to(&mut self, url: &str) -> Page {
        self.go(url.parse().unwrap(), None, Some("evil.example")).await
    }

    /// Somebody fills in the form of a page.
    pub(crate) async fn submit(&mut self, page: &Page, more: &[(&str, &str)]) -> Page {
        let action =
            between(&page.text, "action=\"", "\"").unwrap_or_else(|| panic!("no form: {}", page.text));
        let to = page.url.join(&action).unwrap();
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        for input in page.text.split("<input ").skip(1).filter(|input| input.contains("type=\"hidden\"")) {
            let (name, value) = (between(input, "name=\"", "\""), between(input, "value=\"", "\""));
            form.append_pair(&name.unwrap(), &value.unwrap_or_default());
        }
        form.extend_pairs(more);
        let host = page.url.host_str().unwrap().to_owned();
        self.go(to, Some(form.finish()), Some(&host)).await
    }

    /// The script of a page at `url` asks its own server.
    pub(crate) async fn fetch(&mut self, url: &str) -> (u16, serde_json::Value) {
        let url: Url = url.parse().unwrap();
        let host = url.host_str().unwrap().to_owned();
        let response = self.send(&url, None, Some(&host)).await;
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    /// The same, and it says something.
    pub(crate) async fn post(&mut self, url: &str, body: &serde_json::Value) -> (u16, serde_json::Value) {
        let url: Url = url.parse().unwrap();
        self.visited.push(url.clone());
        let response = self.client.post(url.clone()).json(body).send().await.unwrap();
        let status = response.status().as_u16();
        self.keep_all(url.host_str().unwrap(), &response);
        (status, response.json().await.unwrap_or_default())
    }

    async fn go(&mut self, mut url: Url, mut form: Option<String>, from: Option<&str>) -> Page {
        for _ in 0..20 {
            let response = self.send(&url, form.take(), from).await;
            let status = response.status();
            let Some(to) = response.headers().get(header::LOCATION).filter(|_| status.is_redirection())
            else {
                let text = response.text().await.unwrap();
                return Page { url, status: status.as_u16(), text };
            };
            url = url.join(to.to_str().unwrap()).unwrap();
        }
        panic!("it goes round in circles: {:?}", self.visited);
    }

    /// `from`: the site of the page that led here, through however many redirects.
    async fn send(&mut self, url: &Url, form: Option<String>, from: Option<&str>) -> reqwest::Response {
        self.visited.push(url.clone());
        let host = url.host_str().unwrap();
        let is_cross_site = from.is_some_and(|from| from != host);
        let sent: Vec<String> = self
            .cookies
            .iter()
            .filter(|cookie| cookie.host == host && is_below(url.path(), &cookie.path))
            .filter(|cookie| match cookie.same_site.as_str() {
                "strict" => !is_cross_site,
                "none" => true,
                _ => !is_cross_site || form.is_none(),
            })
            .map(|cookie| format!("{}={}", cookie.name, cookie.value))
            .collect();
        let request = match form {
            Some(form) => {
                let kind = "application/x-www-form-urlencoded";
                self.client.post(url.clone()).header(header::CONTENT_TYPE, kind).body(form)
            }
            None => self.client.get(url.clone()),
        };
        let request = if sent.is_empty() { request } else { request.header(header::COOKIE, sent.join("; ")) };
        let response = request.send().await.unwrap();
        self.keep_all(host, &response);
        response
    }

    fn keep_all(&mut self, host: &str, response: &reqwest::Response) {
        let set: Vec<String> = response
            .headers()
            .get_all(header::SET_COOKIE)
            .iter()
            .map(|one| one.to_str().unwrap().to_owned())
            .collect();
        for line in set {
            self.keep(host, &line);
            self.set.push(line);
        }
    }

    /// A server, or a test, wants this kept.
    pub(crate) fn keep(&mut self, host: &str, line: &str) {
        let mut parts = line.split(';').map(str::trim);
        let (name, value) = parts.next().unwrap().split_once('=').unwrap();
        let attributes: Vec<(String, String)> = parts
            .map(|part| part.split_once('=').unwrap_or((part, "")))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let attribute = |wanted: &str| {
            attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        let path = attribute("path").unwrap_or("/").to_owned();
        self.cookies.retain(|kept| !(kept.host == host && kept.name == name && kept.path == path));
        let is_over = attribute("max-age") == Some("0")
            || attribute("expires").is_some_and(|moment| moment.contains("1970"));
        if !is_over {
            let same_site = attribute("samesite").unwrap_or("lax").to_lowercase();
            let (host, name, value) = (host.to_owned(), name.to_owned(), value.to_owned());
            self.cookies.push(Cookie { host, path, name, value, same_site });
        }
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.iter().find(|cookie| cookie.name == name).map(|cookie| cookie.value.as_str())
    }
}

fn is_below(path: &str, of_cookie: &str) -> bool {
    of_cookie == "/"
        || path == of_cookie
        || path.strip_prefix(of_cookie).is_some_and(|rest| rest.starts_with('/') || of_cookie.ends_with('/'))
}

fn between(text: &str, start: &str, end: &str) -> Option<String> {
    let rest = text.split_once(start)?.1;
    Some(rest.split_once(end)?.0.replace("&amp;", "&"))
}
