//! Tools of a workspace, as the wire has them.

use warren_api as api;
use warren_operations::{ToolCatalog, ToolOutcome, ToolRefusal};

pub(crate) fn tool_catalog(catalog: ToolCatalog) -> api::ToolCatalog {
    let tools = catalog.tools.into_iter().map(|tool| api::Tool {
        name: tool.name.to_string(),
        description: tool.description.to_string(),
        input_schema: tool.input_schema,
    });
    api::ToolCatalog { tools: tools.collect(), system_prompt: catalog.system_prompt }
}

pub(crate) fn tool_answer(outcome: ToolOutcome) -> api::ToolAnswer {
    match outcome {
        ToolOutcome::Answered(answer) => api::ToolAnswer { result: Some(answer), refused: None },
        ToolOutcome::Refused(refusal) => {
            api::ToolAnswer { result: None, refused: Some(tool_refusal(refusal)) }
        }
    }
}

pub(crate) fn tool_refusal(refusal: ToolRefusal) -> api::ToolRefusal {
    api::ToolRefusal { kind: refusal.kind.to_owned(), message: refusal.sentence, allowed: refusal.allowed }
}
