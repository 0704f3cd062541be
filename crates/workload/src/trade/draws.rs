//! Random draws of the maker: each stock, user and session has a stream of its own, so that none depends on another.

use std::f64::consts::TAU;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::cache::draw::{below, mixed, unit};

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) enum Drawn {
    Stock = 1,
    User = 2,
    Session = 3,
}

/// The stream of one item.
#[derive(Debug)]
pub(super) struct Draws(pub ChaCha8Rng);

impl Draws {
    pub fn of(seed: u64, drawn: Drawn, number: u32) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(mixed(seed).wrapping_add(drawn as u64));
        random.set_stream(number.into());
        Self(random)
    }

    /// From [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.0.next_u64())
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        below(&mut self.0, limit)
    }

    /// From `least` to `most`, both included.
    pub fn between(&mut self, least: u32, most: u32) -> u32 {
        least + self.below(most - least + 1)
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of a list that is not empty.
    pub fn one<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len() as u32) as usize]
    }

    /// One place of a list that is not empty.
    pub fn place<T>(&mut self, list: &[T]) -> usize {
        self.below(list.len() as u32) as usize
    }

    /// From the standard normal law, by Box and Muller's transform of two draws.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (TAU * self.unit()).cos()
    }
}
