//! `warren model-server`: a scripted model over HTTP.

use serde_json::json;
use tokio::net::TcpListener;
use warren_llm::Script;
use warren_llm::scripted::BUILT_IN;
use warren_llm::server::{ServerOptions, serve};
use warren_model::{ErrorCode, MAX_DOCUMENT_BYTES};

use crate::arguments::ModelServerArguments;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::{Outcome, Report};

/// Until it is told to stop.
pub(crate) async fn run(context: &Context, arguments: &ModelServerArguments) -> Outcome<Exit> {
    let script = read(arguments)?;
    let listener = TcpListener::bind(arguments.listen).await;
    let cannot = |error: std::io::Error| {
        Report::new(ErrorCode::InvalidUsage)
            .because(format!("cannot listen on {}: {error}", arguments.listen))
            .hint("Choose an address of this machine and a port you may use, with `--listen`.")
    };
    let listener = listener.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let (anthropic, openai) = (format!("http://{address}"), format!("http://{address}/v1"));
    if context.output.is_json {
        let line = json!({ "url": anthropic, "anthropic_base_url": anthropic, "openai_base_url": openai });
        context.output.json(&line)?;
    } else {
        context.output.line(&format!("ANTHROPIC_BASE_URL={anthropic}"))?;
        context.output.line(&format!("OPENAI_BASE_URL={openai}"))?;
    }
    let ended = tokio::select! {
        ended = serve(listener, script, ServerOptions::default()) => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    ended.map_err(cannot)?;
    Ok(Exit::OK)
}

fn read(arguments: &ModelServerArguments) -> Outcome<Script> {
    let path = &arguments.script;
    let built_in = path.to_str().filter(|name| BUILT_IN.contains(name)).and_then(Script::built_in);
    // A file of the same name is meant where there is one.
    if let Some(script) = built_in.filter(|_| !path.exists()) {
        return Ok(script);
    }
    let length = std::fs::metadata(path).map_err(|error| Report::local_file(path, &error))?.len();
    if length > MAX_DOCUMENT_BYTES as u64 {
        let sentence = format!("{}: more than {MAX_DOCUMENT_BYTES} bytes", path.display());
        return Err(Report::new(ErrorCode::InvalidUsage).because(sentence).into());
    }
    let text = std::fs::read_to_string(path).map_err(|error| Report::local_file(path, &error))?;
    Script::read(&text).map_err(|error| {
        Report::new(ErrorCode::InvalidUsage)
            .because(format!("{}: {error}", path.display()))
            .hint("The format of scripts is in docs/guides/models.md.")
            .into()
    })
}
