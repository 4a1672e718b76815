//! Files as resources.

use rmcp::model::{PaginatedRequestParams, ReadResourceRequestParams, ResourceContents};
use serde_json::json;
use warren_testkit::Warren;

use super::{Client, connect, of_workspace};
use crate::{local, memory};

async fn read(client: &Client, uri: &str) -> Result<ResourceContents, rmcp::model::ErrorData> {
    match client.read_resource(ReadResourceRequestParams::new(uri)).await {
        Ok(result) => Ok(result.contents.into_iter().next().unwrap()),
        Err(rmcp::ServiceError::McpError(error)) => Err(error),
        Err(error) => panic!("{error:?}"),
    }
}

async fn text(client: &Client, uri: &str) -> String {
    match read(client, uri).await.unwrap() {
        ResourceContents::TextResourceContents { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

// S30
#[tokio::test]
async fn files_are_listed_and_read_by_their_uris() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    for (path, body) in [("a.txt", "hello"), ("deep/er/b%20%C3%A4%23.txt", "umlaut"), ("c.bin", "\u{1}")] {
        assert_eq!(warren.put(&format!("/api/v1/workspaces/{id}/files?path={path}"), body).await.status, 201);
    }
    warren.put(&format!("/api/v1/workspaces/{id}/files?path=d.bin"), vec![0xff, 0xfe]).await;
    let client = connect(&warren, &of_workspace(id)).await;
    let listed = client.list_all_resources().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a.txt", "c.bin", "d.bin", "deep/er/b ä#.txt"]);
    assert_eq!(listed[0].size, Some(5));
    assert_eq!(text(&client, &listed[0].uri).await, "hello");
    assert_eq!(text(&client, &listed[3].uri).await, "umlaut");
    let ResourceContents::BlobResourceContents { blob, .. } = read(&client, &listed[2].uri).await.unwrap()
    else {
        panic!("bytes that are no text come as base64")
    };
    assert_eq!(blob, "//4=");
    let templates = client.list_all_resource_templates().await.unwrap();
    let [template] = templates.as_slice() else { panic!("{templates:?}") };
    let uri = template.uri_template.replace("{+path}", "deep/er");
    assert!(text(&client, &uri).await.contains("deep/er/b ä#.txt"), "a directory gives its listing");
}

// S30
#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let warren = Warren::start().await;
    let id = warren.workspace(local()).await;
    let script = "i=0; while [ $i -lt 1100 ]; do : > f$i; i=$((i+1)); done";
    warren.post(&format!("/api/v1/workspaces/{id}/exec"), &json!({ "command": script })).await;
    let client = connect(&warren, &of_workspace(id)).await;
    let page = client.list_resources(None).await.unwrap();
    assert!(page.resources.len() <= 500 && page.next_cursor.is_some(), "{}", page.resources.len());
    let next = PaginatedRequestParams::default().with_cursor(page.next_cursor);
    assert!(!client.list_resources(Some(next)).await.unwrap().resources.is_empty());
    assert_eq!(client.list_all_resources().await.unwrap().len(), 1_100);
}

// S30, sec/F01, sec/F03
#[tokio::test]
async fn no_uri_leads_out_of_the_workspace() {
    let warren = Warren::start().await;
    let (id, other) = (warren.workspace(local()).await, warren.workspace(local()).await);
    warren.put(&format!("/api/v1/workspaces/{other}/files?path=theirs.txt"), "theirs").await;
    warren.put(&format!("/api/v1/workspaces/{id}/files?path=mine.txt"), "mine").await;
    let link = json!({ "command": "ln -s /etc/passwd link" });
    warren.post(&format!("/api/v1/workspaces/{id}/exec"), &link).await;
    let client = connect(&warren, &of_workspace(id)).await;
    let own = format!("warren://workspaces/{id}/files/");
    assert_eq!(text(&client, &format!("{own}mine.txt")).await, "mine");
    for uri in [
        format!("{own}../{other}/files/theirs.txt"),
        format!("{own}%2e%2e/%2e%2e/etc/passwd"),
        format!("{own}..%2F..%2Fetc%2Fpasswd"),
        format!("{own}link"),
        format!("{own}a%00b"),
        format!("{own}%ff"),
        format!("{own}nothing.txt"),
        format!("{own}mine.txt&path=/etc/passwd"),
        format!("warren://workspaces/{other}/files/theirs.txt"),
        "file:///etc/passwd".to_owned(),
        "/etc/passwd".to_owned(),
        String::new(),
    ] {
        let error = read(&client, &uri).await.expect_err(&uri);
        let told = format!("{error:?}");
        assert!(!told.contains("root:") && !told.contains("\"theirs\""), "{uri}: {told}");
    }
}

// S30
#[tokio::test]
async fn a_file_past_the_limit_is_refused_with_a_way_out() {
    let warren = Warren::start().await;
    let id = warren.workspace(memory()).await;
    let path = format!("/api/v1/workspaces/{id}/files?path=big");
    warren.put(&path, vec![b'x'; 1 << 20]).await;
    let client = connect(&warren, &of_workspace(id)).await;
    let uri = format!("warren://workspaces/{id}/files/big");
    assert_eq!(text(&client, &uri).await.len(), 1 << 20);
    warren.put(&path, vec![b'x'; (1 << 20) + 1]).await;
    let error = read(&client, &uri).await.unwrap_err();
    assert!(error.message.contains("workspace_read_file"), "{error:?}");
}
