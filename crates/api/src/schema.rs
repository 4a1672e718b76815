//! Where types get their OpenAPI schema from: with the feature `openapi` from utoipa, and otherwise nowhere.

#[cfg(feature = "openapi")]
pub(crate) use utoipa::ToSchema;
#[cfg(not(feature = "openapi"))]
pub(crate) use warren_empty_schema::ToSchema;
