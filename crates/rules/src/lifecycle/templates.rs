//! What a template leads to (F50): which workspaces, from which parts, and what they still need.
//!
//! ```text
//!   blueprint + library of templates ──▶ plan ──▶ nodes, parents first ──▶ missing(nodes, known names)
//! ```
//!
//! A blueprint that names a template begins from it. What it says itself wins, with three exceptions: required variables
//! add up, since nobody can override away what a template needs; of two provision timeouts the larger holds (F5), since a
//! template knows how long its image takes; and children are added to the template's.

use std::collections::{BTreeMap, BTreeSet};

use warren_model::{
    AgentSpec, Blueprint, ErrorCode, PublicFailure, Runtime, TemplateName, TemplateStamp, WorkspaceName,
};

/// Workspaces that one request may make.
pub const MAX_NODES: usize = 500;
/// How deep the tree of one request may be.
pub const MAX_DEPTH: usize = 32;
/// Templates that one request may lead to.
pub const MAX_TEMPLATES: usize = 200;

/// A template as the plan knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub hash: String,
    pub blueprint: Blueprint,
}

pub type Library = BTreeMap<TemplateName, Entry>;

/// One workspace to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Names from the root down, such as `lead/critic`.
    pub path: String,
    /// The place of its parent in the plan; always before its own.
    pub parent: Option<usize>,
    pub name: WorkspaceName,
    pub stamp: Option<TemplateStamp>,
    pub runtime: Runtime,
    /// With all that its templates say; `template` and `children` are used up.
    pub blueprint: Blueprint,
}

impl Node {
    pub fn agent(&self) -> AgentSpec {
        self.blueprint.agent()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    UnknownTemplate(TemplateName),
    /// The way round, the first name again at its end.
    Cycle(Vec<TemplateName>),
    TooMany,
    TooDeep,
    /// Neither it nor its templates say what backs it.
    NoProvider {
        path: String,
    },
    /// It has neither a name nor a template.
    NoName {
        path: String,
    },
}

impl Problem {
    pub fn sentence(&self) -> String {
        match self {
            Self::UnknownTemplate(name) => format!("template: there is no `{name}`"),
            Self::Cycle(way) => way.iter().map(TemplateName::as_str).collect::<Vec<_>>().join(" → "),
            Self::TooMany => {
                format!("at most {MAX_NODES} workspaces, from at most {MAX_TEMPLATES} templates")
            }
            Self::TooDeep => format!("at most {MAX_DEPTH} levels"),
            Self::NoProvider { path } => {
                format!("{path}: provider: neither it nor its template says what backs it")
            }
            Self::NoName { path } => format!("{path}: name: it needs a name, or a template that lends one"),
        }
    }
}

impl PublicFailure for Problem {
    fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownTemplate(_) => ErrorCode::TemplateNotFound,
            Self::Cycle(_) => ErrorCode::TemplateCycle,
            Self::TooMany | Self::TooDeep => ErrorCode::TreeTooLarge,
            Self::NoProvider { .. } | Self::NoName { .. } => ErrorCode::InvalidTemplate,
        }
    }

    fn detail(&self) -> Option<String> {
        Some(self.sentence())
    }
}

/// The workspaces that a blueprint leads to, parents first.
pub fn plan(root: &Blueprint, library: &Library) -> Result<Vec<Node>, Problem> {
    plan_all(std::slice::from_ref(root), library)
}

/// As `plan`, for several that stand side by side.
pub fn plan_all(roots: &[Blueprint], library: &Library) -> Result<Vec<Node>, Problem> {
    let mut planner = Planner { library, nodes: Vec::new() };
    for root in roots {
        planner.add(root, None, 1, &[])?;
    }
    Ok(planner.nodes)
}

/// The first way round that the templates of a blueprint take, if they do; those that are not in the library are passed by.
pub fn find_cycle(
    name: &TemplateName,
    blueprint: &Blueprint,
    library: &Library,
) -> Option<Vec<TemplateName>> {
    let mut done = BTreeSet::new();
    walk(blueprint, library, &mut vec![name.clone()], &mut done)
}

fn walk(
    blueprint: &Blueprint,
    library: &Library,
    way: &mut Vec<TemplateName>,
    done: &mut BTreeSet<TemplateName>,
) -> Option<Vec<TemplateName>> {
    for next in blueprint.references() {
        if let Some(at) = way.iter().position(|name| *name == next) {
            return Some(way[at..].iter().cloned().chain([next]).collect());
        }
        let Some(entry) = library.get(&next) else { continue };
        if done.contains(&next) {
            continue;
        }
        way.push(next.clone());
        let found = walk(&entry.blueprint, library, way, done);
        if found.is_some() {
            return found;
        }
        way.pop();
        done.insert(next);
    }
    None
}

struct Planner<'a> {
    library: &'a Library,
    nodes: Vec<Node>,
}

impl Planner<'_> {
    /// `above` are the templates inside of which this blueprint stands: to name one of them again would never end.
    fn add(
        &mut self,
        blueprint: &Blueprint,
        parent: Option<usize>,
        depth: usize,
        above: &[TemplateName],
    ) -> Result<(), Problem> {
        if self.nodes.len() >= MAX_NODES {
            return Err(Problem::TooMany);
        }
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep);
        }
        let mut within = above.to_vec();
        let (whole, children) = self.resolve(blueprint, &mut within)?;
        let node = self.node(blueprint, whole, parent)?;
        let place = self.nodes.len();
        self.nodes.push(node);
        for (child, within) in children {
            self.add(&child, Some(place), depth + 1, &within)?;
        }
        Ok(())
    }

    /// The blueprint over its templates, and the children of them all, each with the templates that it stands inside of.
    #[expect(clippy::type_complexity, reason = "a pair that is taken apart at once")]
    fn resolve(
        &self,
        blueprint: &Blueprint,
        within: &mut Vec<TemplateName>,
    ) -> Result<(Blueprint, Vec<(Blueprint, Vec<TemplateName>)>), Problem> {
        let outside = within.clone();
        let own = blueprint.children.iter().map(|child| (child.clone(), outside.clone()));
        let Some(name) = &blueprint.template else {
            return Ok((Blueprint { children: Vec::new(), ..blueprint.clone() }, own.collect()));
        };
        if let Some(at) = within.iter().position(|one| one == name) {
            return Err(Problem::Cycle(within[at..].iter().cloned().chain([name.clone()]).collect()));
        }
        let entry = self.library.get(name).ok_or_else(|| Problem::UnknownTemplate(name.clone()))?;
        within.push(name.clone());
        let (base, mut children) = self.resolve(&entry.blueprint, within)?;
        children.extend(own);
        Ok((overlay(base, blueprint), children))
    }

    fn node(&self, asked: &Blueprint, whole: Blueprint, parent: Option<usize>) -> Result<Node, Problem> {
        let above = parent.map(|at| format!("{}/", self.nodes[at].path)).unwrap_or_default();
        let name = asked.name.as_deref().or(asked.template.as_ref().map(TemplateName::as_str));
        let Some(name) = name.and_then(|name| name.parse::<WorkspaceName>().ok()) else {
            return Err(Problem::NoName { path: format!("{above}?") });
        };
        let path = format!("{above}{name}");
        if whole.provider.is_none() {
            return Err(Problem::NoProvider { path });
        }
        let stamp = asked.template.as_ref().and_then(|name| {
            let entry = self.library.get(name)?;
            Some(TemplateStamp { name: name.clone(), hash: entry.hash.clone() })
        });
        Ok(Node {
            path,
            parent,
            name,
            stamp,
            runtime: whole.runtime.unwrap_or(Runtime::Hosted),
            blueprint: whole,
        })
    }
}

/// `over` wins, except where the module says otherwise.
fn overlay(base: Blueprint, over: &Blueprint) -> Blueprint {
    let over = over.clone();
    let mut prompts = base.prompts;
    prompts.extend(over.prompts);
    let mut required_env = base.required_env;
    required_env.extend(over.required_env);
    required_env.sort();
    required_env.dedup();
    Blueprint {
        name: over.name.or(base.name),
        description: over.description.or(base.description),
        template: None,
        runtime: over.runtime.or(base.runtime),
        provider: over.provider.or(base.provider),
        capabilities: over.capabilities.or(base.capabilities),
        tier: over.tier.or(base.tier),
        role: over.role.or(base.role),
        provision_timeout_seconds: over.provision_timeout_seconds.max(base.provision_timeout_seconds),
        hibernate_after_seconds: over.hibernate_after_seconds.or(base.hibernate_after_seconds),
        max_concurrent_tasks: over.max_concurrent_tasks.or(base.max_concurrent_tasks),
        agent: over.agent.or(base.agent),
        model: over.model.or(base.model),
        prompts,
        skills: over.skills.or(base.skills),
        schedules: over.schedules.or(base.schedules),
        required_env,
        command: over.command.or(base.command),
        wedge_signs: over.wedge_signs.or(base.wedge_signs),
        runner: over.runner.or(base.runner),
        doors: over.doors.or(base.doors),
        children: Vec::new(),
    }
}

/// A variable that a workspace of the plan requires and that nobody has set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub path: String,
    pub name: String,
}

/// All that is missing over the whole plan, in its order; each of `nodes` is a path with what it requires.
pub fn missing<'a>(
    nodes: impl IntoIterator<Item = (&'a str, &'a [String])>,
    known: &BTreeSet<String>,
) -> Vec<Missing> {
    let of_node = |(path, required): (&'a str, &'a [String])| {
        let required: BTreeSet<&String> = required.iter().collect();
        let unknown = required.into_iter().filter(|name| !known.contains(*name));
        unknown.map(|name| Missing { path: path.to_owned(), name: name.clone() }).collect::<Vec<_>>()
    };
    nodes.into_iter().flat_map(of_node).collect()
}

#[cfg(test)]
mod tests;
