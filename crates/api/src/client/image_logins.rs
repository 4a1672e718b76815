//! Routes of logins at registries of images.

use reqwest::Method;

use super::{Client, Error};
use crate::{ImageLogin, ImageLogins, SetImageLogin};

impl Client {
    /// The answer does not hold the password.
    pub async fn set_image_login(&self, registry: &str, login: &SetImageLogin) -> Result<ImageLogin, Error> {
        self.answer(self.request(Method::PUT, &["image-logins", registry]).json(login)).await
    }

    pub async fn image_logins(&self) -> Result<ImageLogins, Error> {
        self.answer(self.request(Method::GET, &["image-logins"])).await
    }

    pub async fn remove_image_login(&self, registry: &str) -> Result<(), Error> {
        self.no_answer(self.request(Method::DELETE, &["image-logins", registry])).await
    }
}
