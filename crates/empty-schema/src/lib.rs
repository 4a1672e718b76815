//! Stands in for `utoipa::ToSchema` where no OpenAPI document is made: derives nothing, and lets the attribute `schema`
//! stand on fields.
//!
//! The types of `api` are compiled for the runner, too, which is in every box and tells nobody its schema. With this in
//! place of utoipa they need no `cfg_attr` on every type and field.

use proc_macro::TokenStream;

/// Derives nothing.
#[proc_macro_derive(ToSchema, attributes(schema))]
pub fn to_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
