//! Finds many texts at once, byte by byte, in time linear in what is read (Aho and Corasick).
//!
//! Written here for the sake of one number that ready-made ones keep to themselves: how much of what was read last may be
//! the beginning of a pattern. Text that streams is held back by just that much.

use std::collections::{BTreeMap, VecDeque};

/// A place in the automaton: what was read last, as far as it is the beginning of a pattern.
pub(super) type State = u32;

/// Where nothing that was read matters.
pub(super) const START: State = 0;

/// The patterns, as a tree with a way back from each node to the longest ending that is a beginning too.
pub(super) struct Automaton {
    nodes: Vec<Node>,
    /// Of all nodes, sorted by node and byte.
    edges: Vec<(u8, State)>,
    /// The edges of the start, one for each byte: most text never leaves it.
    start: Box<[State; 256]>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    first_edge: u32,
    edges: u16,
    back: State,
    depth: u32,
    /// The length of the longest pattern that ends here; 0 where none does.
    found: u32,
}

impl Automaton {
    pub(super) fn new<'p>(patterns: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut tree: BTreeMap<(State, u8), State> = BTreeMap::new();
        let mut nodes = vec![Node::default()];
        for pattern in patterns {
            let mut here = START;
            for byte in pattern {
                let next = State::try_from(nodes.len()).unwrap_or(State::MAX);
                let depth = nodes[here as usize].depth + 1;
                here = *tree.entry((here, *byte)).or_insert_with(|| {
                    nodes.push(Node {
                        depth,
                        ..Node::default()
                    });
                    next
                });
            }
            nodes[here as usize].found = nodes[here as usize].depth;
        }
        let mut start = Box::new([START; 256]);
        let mut edges = Vec::with_capacity(tree.len());
        for ((from, byte), to) in tree {
            let node = &mut nodes[from as usize];
            if node.edges == 0 {
                node.first_edge = u32::try_from(edges.len()).unwrap_or(u32::MAX);
            }
            node.edges += 1;
            edges.push((byte, to));
            if from == START {
                start[usize::from(byte)] = to;
            }
        }
        let mut made = Self {
            nodes,
            edges,
            start,
        };
        made.find_ways_back();
        made
    }

    /// Goes level by level: a way back leads to a node nearer the start, which is done by then.
    fn find_ways_back(&mut self) {
        let mut left: VecDeque<State> = self
            .start
            .iter()
            .copied()
            .filter(|it| *it != START)
            .collect();
        while let Some(here) = left.pop_front() {
            for at in self.edges_of(here) {
                let (byte, to) = self.edges[at];
                let back = self.step(self.nodes[here as usize].back, byte);
                let found = self.nodes[back as usize].found;
                let node = &mut self.nodes[to as usize];
                node.back = back;
                node.found = node.found.max(found);
                left.push_back(to);
            }
        }
    }

    fn edges_of(&self, state: State) -> std::ops::Range<usize> {
        let node = &self.nodes[state as usize];
        let first = node.first_edge as usize;
        first..first + usize::from(node.edges)
    }

    /// Returns the place after one more byte.
    pub(super) fn step(&self, mut state: State, byte: u8) -> State {
        while state != START {
            let edges = &self.edges[self.edges_of(state)];
            if let Some((_, to)) = edges.iter().find(|(of, _)| *of == byte) {
                return *to;
            }
            state = self.nodes[state as usize].back;
        }
        self.start[usize::from(byte)]
    }

    /// Tells whether a pattern begins with all of this text.
    pub(super) fn begins_with(&self, text: &[u8]) -> bool {
        let mut state = START;
        (1..).zip(text).all(|(read, byte)| {
            state = self.step(state, *byte);
            self.depth(state) == read
        })
    }

    /// Tells whether a pattern begins with this byte.
    pub(super) fn begins(&self, byte: u8) -> bool {
        self.start[usize::from(byte)] != START
    }

    /// Returns how many of the last bytes may be the beginning of a pattern.
    pub(super) fn depth(&self, state: State) -> usize {
        self.nodes[state as usize].depth as usize
    }

    /// Returns the length of the longest pattern that ends here; 0 where none does.
    pub(super) fn found(&self, state: State) -> usize {
        self.nodes[state as usize].found as usize
    }
}
