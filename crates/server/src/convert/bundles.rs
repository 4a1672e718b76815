//! Bundles, from the model to the wire. The way back is the model's own: a bundle is read as strictly as it is written.

use warren_api as api;
use warren_model as model;
use warren_operations::ImportedFiles;

use super::memory_scope;

pub(crate) fn bundle(from: model::Bundle) -> api::Bundle {
    let model::Bundle { format, version, origin, warnings, root } = from;
    let origin = api::BundleOrigin { workspace_id: origin.workspace_id, exported_at: origin.exported_at };
    api::Bundle { format, version, origin, warnings, root: node(root) }
}

fn node(from: model::BundleNode) -> api::BundleNode {
    api::BundleNode {
        name: from.name,
        spec: serde_json::to_value(&from.spec).unwrap_or_default(),
        peers: from.peers.map(peers),
        memory: from.memory.into_iter().map(memory).collect(),
        schedules: from.schedules.map(|all| all.into_iter().map(schedule).collect()),
        files: from.files.map(files),
        children: from.children.into_iter().map(node).collect(),
    }
}

fn peers(from: model::BundlePeers) -> api::BundlePeers {
    let peer = |peer: model::BundlePeer| match peer {
        model::BundlePeer::Name(name) => api::BundlePeer::Name(name),
        model::BundlePeer::Id(id) => api::BundlePeer::Id(id.to_string()),
    };
    api::BundlePeers {
        circle: super::exchange::peer_circle(from.circle),
        allow: from.allow.into_iter().map(peer).collect(),
        deny: from.deny.into_iter().map(peer).collect(),
    }
}

fn memory(from: model::BundleMemory) -> api::BundleMemory {
    api::BundleMemory {
        scope: memory_scope(from.scope),
        key: from.key,
        value: from.value,
        expires_at: from.expires_at.map(|at| at.to_string()),
    }
}

fn schedule(from: model::BundleSchedule) -> api::BundleSchedule {
    api::BundleSchedule {
        name: from.name,
        cron: from.cron,
        time_zone: from.time_zone,
        every_seconds: from.every_seconds,
        prompt: from.prompt,
        jitter_seconds: from.jitter_seconds,
        missed: missed(from.missed),
        overlap: overlap(from.overlap),
        is_paused: from.is_paused,
    }
}

pub(crate) fn missed(policy: model::MissedPolicy) -> api::MissedPolicy {
    match policy {
        model::MissedPolicy::Skip => api::MissedPolicy::Skip,
        model::MissedPolicy::Once => api::MissedPolicy::Once,
        model::MissedPolicy::All => api::MissedPolicy::All,
    }
}

pub(crate) fn overlap(policy: model::OverlapPolicy) -> api::OverlapPolicy {
    match policy {
        model::OverlapPolicy::Skip => api::OverlapPolicy::Skip,
        model::OverlapPolicy::Queue => api::OverlapPolicy::Queue,
        model::OverlapPolicy::Allow => api::OverlapPolicy::Allow,
    }
}

fn files(from: model::BundleFiles) -> api::BundleFiles {
    let file = |file: model::BundleFile| api::BundleFile {
        path: file.path,
        text: file.text,
        base64: file.base64,
        executable: file.executable,
    };
    api::BundleFiles {
        empty_directories: from.empty_directories,
        files: from.files.into_iter().map(file).collect(),
    }
}

pub(crate) fn imported_files(from: ImportedFiles) -> api::ImportedFiles {
    let ImportedFiles { written, bytes, failed, problems, executable: _ } = from;
    api::ImportedFiles { written, bytes, failed, problems }
}
