//! Which entries make up the conversation that ends at a given one. Pure.
//!
//! Parents alone are not enough: parallel tool calls branch. Each result follows the entry that made its
//! call, and only the last result is an ancestor of what comes next, so the others are put back here.

use crate::index::{Index, Kind, Node};
use std::collections::{HashMap, HashSet};

/// The entry that a resumed conversation follows: the last one that is the conversation's own. A compaction whose summary
/// was not written any more did not happen: following it would lose the whole conversation.
pub(crate) fn leaf(index: &Index) -> Option<usize> {
    let is_own = |node: &Node| !node.aside && node.kind != Kind::CompactBoundary;
    index.nodes.iter().rposition(is_own).or_else(|| index.nodes.len().checked_sub(1))
}

/// The entries the model has to see again, in order, ending with `leaf`.
pub(crate) fn conversation(index: &Index, leaf: usize) -> Vec<usize> {
    let path = path_to(index, leaf);
    let family = Family::of(&index.nodes[..=leaf]);
    let mut ordered = Vec::with_capacity(path.len());
    let mut seen = HashSet::new();
    for (position, node) in path.iter().copied().enumerate() {
        if seen.contains(&node) {
            continue;
        }
        let rest = &path[position..];
        for member in family.message(&index.nodes, rest).into_iter().filter(|member| seen.insert(*member)) {
            ordered.push(member);
        }
    }
    ordered.retain(|node| matches!(index.nodes[*node].kind, Kind::User | Kind::Assistant | Kind::Attachment));
    ordered
}

/// From the root, or the last compaction, to `leaf`.
fn path_to(index: &Index, leaf: usize) -> Vec<usize> {
    let mut path = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some(leaf);
    while let Some(node) = next.filter(|node| seen.insert(*node)) {
        path.push(node);
        next = if index.nodes[node].kind == Kind::CompactBoundary { None } else { parent(index, node) };
    }
    path.reverse();
    path
}

/// A parent that is not in the file (its line was damaged) gives way to the entry before, rather than
/// losing everything that came earlier.
fn parent(index: &Index, node: usize) -> Option<usize> {
    let uuid = index.nodes[node].parent.as_ref()?;
    let aside = index.nodes[node].aside;
    index.by_uuid.get(uuid).copied().or_else(|| index.nodes[..node].iter().rposition(|earlier| earlier.aside == aside))
}

/// Entries by what binds them to others, up to the end of the conversation.
struct Family<'a> {
    by_message: HashMap<&'a str, Vec<usize>>,
    answers_to: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Family<'a> {
    fn of(nodes: &'a [Node]) -> Self {
        let mut family = Self { by_message: HashMap::new(), answers_to: HashMap::new() };
        for (position, node) in nodes.iter().enumerate() {
            if let (Kind::Assistant, Some(id)) = (node.kind, &node.message_id) {
                family.by_message.entry(id).or_default().push(position);
            }
            if node.kind == Kind::User && node.answers {
                for uuid in [&node.parent, &node.source].into_iter().flatten() {
                    family.answers_to.entry(uuid).or_default().push(position);
                }
            }
        }
        family
    }

    /// The first entry of `path` with all that belongs to the same message: its other blocks, then the
    /// results of its calls.
    fn message(&self, nodes: &'a [Node], path: &[usize]) -> Vec<usize> {
        let first = path[0];
        let Some(id) = nodes[first].message_id.as_deref().filter(|_| nodes[first].kind == Kind::Assistant) else {
            return vec![first];
        };
        let is_block = |node: &&usize| nodes[**node].message_id.as_deref() == Some(id);
        let mut members: Vec<usize> = path.iter().take_while(is_block).copied().collect();
        // Where the path leaves the message for anything but a result, the rest of the message was given up.
        if !path.get(members.len()).is_some_and(|next| nodes[*next].answers) {
            return members;
        }
        let mut uuids: HashSet<&str> = members.iter().map(|node| &*nodes[*node].uuid).collect();
        let root = nodes[first].parent.as_deref();
        for block in self.by_message.get(id).into_iter().flatten().copied() {
            let parent = nodes[block].parent.as_deref();
            let related = parent.is_some_and(|parent| uuids.contains(parent)) || (parent.is_some() && parent == root);
            if related && uuids.insert(&nodes[block].uuid) {
                members.push(block);
            }
        }
        members.sort_unstable();
        let mut results: Vec<usize> = members
            .iter()
            .filter_map(|member| self.answers_to.get(&*nodes[*member].uuid))
            .flatten()
            .copied()
            .filter(|result| !nodes[*result].aside)
            .collect();
        results.sort_unstable();
        results.dedup();
        members.extend(results);
        members
    }
}
