//! How much work a check may be, told from the schema and the shape of the value before the check is begun.
//!
//! Keywords that apply a schema do so to the same value (`anyOf`, `$ref`, …) or to those within it (`properties`, `items`,
//! …). How many times parts of the schema are applied at a depth is the number of ways that lead there through so many of
//! the second kind. Two references to itself side by side double it with each level; that is what is noticed here.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Applications of parts of a schema to parts of a value. A check of so many takes about a second.
const MOST: u64 = 5_000_000;
/// A value that is nested deeper is not checked.
const MAX_DEPTH: usize = 64;

const SAME_VALUE: [&str; 4] = ["not", "if", "then", "else"];
const SAME_VALUE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_VALUE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
const WITHIN: [&str; 7] = [
    "additionalProperties",
    "additionalItems",
    "items",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const WITHIN_LISTS: [&str; 2] = ["prefixItems", "items"];
const WITHIN_MAPS: [&str; 2] = ["properties", "patternProperties"];
/// Which schema these mean is known only while a value is checked, or needs other documents.
const REFUSED: [&str; 5] = ["$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor"];

/// One schema within the schema.
#[derive(Debug, Default)]
struct Node {
    /// What it takes to apply it once, without those that it applies in turn.
    weight: u64,
    same: Vec<usize>,
    within: Vec<usize>,
}

/// What applying a schema costs at each depth of a value.
#[derive(Debug)]
pub(super) struct Cost {
    /// By depth, up to the deepest that is checked.
    at_depth: Vec<u64>,
}

impl Cost {
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut graph = Graph { root: schema, nodes: Vec::new(), known: HashMap::new() };
        graph.add(schema)?;
        let order = graph.order()?;
        let mut ways = vec![0u64; graph.nodes.len()];
        ways[0] = 1;
        let mut at_depth = Vec::new();
        for _ in 0..MAX_DEPTH {
            // Those that are applied to the same value come after whoever applies them.
            for at in &order {
                let of_this = ways[*at];
                for next in &graph.nodes[*at].same {
                    ways[*next] = ways[*next].saturating_add(of_this);
                }
            }
            let cost = graph.nodes.iter().zip(&ways);
            let cost =
                cost.fold(0u64, |sum, (node, ways)| sum.saturating_add(node.weight.saturating_mul(*ways)));
            at_depth.push(cost);
            let mut deeper = vec![0u64; graph.nodes.len()];
            for (node, of_this) in graph.nodes.iter().zip(&ways) {
                for next in &node.within {
                    deeper[*next] = deeper[*next].saturating_add(*of_this);
                }
            }
            ways = deeper;
        }
        Ok(Self { at_depth })
    }

    /// Why a value is not checked.
    pub(super) fn problem(&self, value: &Value) -> Option<String> {
        let mut counts = Vec::new();
        if !count(value, 0, &mut counts) {
            return Some(format!("it is nested deeper than {MAX_DEPTH} levels"));
        }
        let work = counts.iter().zip(&self.at_depth);
        let work = work.fold(0u64, |sum, (count, cost)| sum.saturating_add(count.saturating_mul(*cost)));
        (work > MOST).then(|| "it is too large to be checked against its schema".to_owned())
    }
}

/// How many values there are at each depth; false where it is too deep.
fn count(value: &Value, depth: usize, counts: &mut Vec<u64>) -> bool {
    if depth >= MAX_DEPTH {
        return false;
    }
    if counts.len() <= depth {
        counts.push(0);
    }
    counts[depth] += 1;
    match value {
        Value::Array(items) => items.iter().all(|item| count(item, depth + 1, counts)),
        Value::Object(fields) => fields.values().all(|field| count(field, depth + 1, counts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

struct Graph<'a> {
    root: &'a Value,
    nodes: Vec<Node>,
    /// Schemas by their place in memory: each stands in the document once.
    known: HashMap<*const Value, usize>,
}

impl<'a> Graph<'a> {
    fn add(&mut self, schema: &'a Value) -> Result<usize, String> {
        if let Some(at) = self.known.get(&std::ptr::from_ref(schema)) {
            return Ok(*at);
        }
        let at = self.nodes.len();
        self.nodes.push(Node { weight: 1, ..Node::default() });
        self.known.insert(std::ptr::from_ref(schema), at);
        let Value::Object(keywords) = schema else { return Ok(at) };
        let node = self.read(keywords)?;
        self.nodes[at] = node;
        Ok(at)
    }

    fn read(&mut self, keywords: &'a Map<String, Value>) -> Result<Node, String> {
        if let Some(refused) = REFUSED.into_iter().find(|name| keywords.contains_key(*name)) {
            return Err(format!("{refused}: only references like `#/$defs/name` can be used"));
        }
        let mut node = Node { weight: 1, ..Node::default() };
        for (name, value) in keywords {
            let name = name.as_str();
            match value {
                Value::Array(items) if SAME_VALUE_LISTS.contains(&name) => self.all(items, &mut node.same)?,
                Value::Array(items) if WITHIN_LISTS.contains(&name) => self.all(items, &mut node.within)?,
                Value::Object(fields) if SAME_VALUE_MAPS.contains(&name) => {
                    self.all(fields.values(), &mut node.same)?;
                }
                Value::Object(fields) if WITHIN_MAPS.contains(&name) => {
                    self.all(fields.values(), &mut node.within)?;
                }
                value if SAME_VALUE.contains(&name) => node.same.push(self.add(value)?),
                value if WITHIN.contains(&name) => node.within.push(self.add(value)?),
                Value::String(to) if name == "$ref" => {
                    let found = to.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
                    let found = found.ok_or_else(|| {
                        format!("$ref: `{to}` is not in this schema; only references like `#/$defs/name` can be used")
                    })?;
                    node.same.push(self.add(found)?);
                }
                // `enum`, `required` and the like are looked through.
                Value::Array(items) => node.weight += items.len() as u64,
                _ => {}
            }
        }
        Ok(node)
    }

    fn all(
        &mut self,
        schemas: impl IntoIterator<Item = &'a Value>,
        into: &mut Vec<usize>,
    ) -> Result<(), String> {
        for schema in schemas {
            into.push(self.add(schema)?);
        }
        Ok(())
    }

    /// The nodes so that each comes before those that it applies to the same value. There is no such order where one
    /// applies itself to the same value, and a check of that has no end.
    fn order(&self) -> Result<Vec<usize>, String> {
        let mut waits_for = vec![0usize; self.nodes.len()];
        for next in self.nodes.iter().flat_map(|node| &node.same) {
            waits_for[*next] += 1;
        }
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|at| waits_for[*at] == 0).collect();
        let mut done = 0;
        while let Some(at) = order.get(done).copied() {
            done += 1;
            for next in &self.nodes[at].same {
                waits_for[*next] -= 1;
                if waits_for[*next] == 0 {
                    order.push(*next);
                }
            }
        }
        if order.len() < self.nodes.len() {
            return Err("$ref: a schema refers to itself without going into the value".to_owned());
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!({ "next": inner }))
    }

    // A20: bounded
    #[test]
    fn a_list_of_any_length_is_fine_and_a_doubling_reference_is_not() {
        let list = json!({ "properties": { "next": { "$ref": "#" }, "v": { "enum": [1, 2, 3] } } });
        let cost = Cost::of(&list).unwrap();
        assert_eq!(cost.problem(&nested(60)), None);
        assert!(cost.problem(&nested(64)).unwrap().contains("deeper"));
        let twice = json!({ "anyOf": [
            { "properties": { "next": { "$ref": "#" } } }, { "properties": { "next": { "$ref": "#" } } },
        ]});
        let cost = Cost::of(&twice).unwrap();
        assert_eq!(cost.problem(&nested(10)), None);
        assert!(cost.problem(&nested(40)).unwrap().contains("too large"));
    }

    // A20: bounded
    #[test]
    fn a_large_value_times_a_large_schema_is_refused() {
        let wide = json!({ "items": { "anyOf": vec![json!({ "const": 1 }); 1_000] } });
        let cost = Cost::of(&wide).unwrap();
        assert_eq!(cost.problem(&json!(vec![1; 1_000])), None);
        assert!(cost.problem(&json!(vec![1; 100_000])).is_some());
        let plain = Cost::of(&json!({ "items": { "type": "integer" } })).unwrap();
        assert_eq!(plain.problem(&json!(vec![1; 100_000])), None);
    }
}
