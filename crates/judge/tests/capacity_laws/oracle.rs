//! Capacities in closed form.

use weighbridge_model::objective::{Measure, Resolved};

use super::server::{Law, Service};

/// The rate at which the statistic of a condition of response times equals its limit, without starts' variation.
pub fn capacity(service: &Service, condition: &Resolved) -> f64 {
    let limit = condition.limit.value() / 1e9;
    let Measure::Response(statistic) = condition.measure else { panic!("of response times") };
    let most = service.servers as f64 / service.law.moment(1);
    let exceeds = |rate: f64| match statistic.quantile() {
        None => mean(service, rate) > limit,
        Some(q) => beyond(service, rate, limit) > 1.0 - q,
    };
    let (mut low, mut high) = (0.0, most * (1.0 - 1e-9));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if exceeds(middle) { high = middle } else { low = middle }
    }
    low
}

/// Mean response time: Pollaczek (1930) and Khinchine (1932) for one server, Erlang (1917) for several.
fn mean(service: &Service, rate: f64) -> f64 {
    let (m, m2) = (service.law.moment(1), service.law.moment(2));
    if service.servers == 1 {
        return m + rate * m2 / (2.0 * (1.0 - rate * m));
    }
    let servers = service.servers as f64;
    m + waits(service, rate) / (servers / m - rate)
}

/// P(response > t).
fn beyond(service: &Service, rate: f64, t: f64) -> f64 {
    let m = service.law.moment(1);
    if service.servers > 1 {
        // A wait is 0, or exponential with what the servers have left; the service comes on top.
        let (wait, mu) = (waits(service, rate), 1.0 / m);
        let left = service.servers as f64 * mu - rate;
        let both = (left * (-mu * t).exp() - mu * (-left * t).exp()) / (left - mu);
        return (1.0 - wait) * (-mu * t).exp() + wait * both;
    }
    match service.law {
        Law::Exponential { .. } => (-(1.0 / m - rate) * t).exp(),
        law => beyond_by_transform(&law, rate, t),
    }
}

/// The same for any law, one server.
pub fn beyond_by_transform(law: &Law, rate: f64, t: f64) -> f64 {
    1.0 - invert(t, |s| response_transform(law, rate, s) / s)
}

/// Erlang's C: the share of requests that wait.
fn waits(service: &Service, rate: f64) -> f64 {
    let (servers, offered) = (service.servers as f64, rate * service.law.moment(1));
    let mut blocked = 1.0;
    for n in 1..=service.servers {
        blocked = offered * blocked / (n as f64 + offered * blocked);
    }
    let load = offered / servers;
    blocked / (1.0 - load + load * blocked)
}

#[derive(Debug, Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn exp(self) -> Self {
        Self { re: self.re.exp() * self.im.cos(), im: self.re.exp() * self.im.sin() }
    }
}

impl std::ops::Mul for Complex {
    type Output = Self;
    fn mul(self, b: Self) -> Self {
        Self { re: self.re * b.re - self.im * b.im, im: self.re * b.im + self.im * b.re }
    }
}

impl std::ops::Mul<f64> for Complex {
    type Output = Self;
    fn mul(self, b: f64) -> Self {
        Self { re: self.re * b, im: self.im * b }
    }
}

impl std::ops::Add for Complex {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self { re: self.re + b.re, im: self.im + b.im }
    }
}

impl std::ops::Div for Complex {
    type Output = Self;
    fn div(self, b: Self) -> Self {
        let square = b.re * b.re + b.im * b.im;
        self * Self { re: b.re / square, im: -b.im / square }
    }
}

/// The Laplace–Stieltjes transform of the response time of M/G/1: (1 − ρ)s/(s − λ + λB(s))·B(s).
fn response_transform(law: &Law, rate: f64, s: Complex) -> Complex {
    let real = |re| Complex { re, im: 0.0 };
    let service = match *law {
        Law::Exponential { mean } => real(1.0) / (real(1.0) + s * mean),
        Law::Constant { mean } => (s * -mean).exp(),
        Law::Bimodal { short, long, share } => (s * -short).exp() * (1.0 - share) + (s * -long).exp() * share,
    };
    let wait = s * (1.0 - rate * law.moment(1)) / (s + real(-rate) + service * rate);
    wait * service
}

/// The function of a Laplace transform at `t`: the Euler algorithm of Abate & Whitt (1995), exact to 1e-7 where the
/// function is smooth.
fn invert(t: f64, transform: impl Fn(Complex) -> Complex) -> f64 {
    const TERMS: i32 = 60;
    const AVERAGED: i32 = 14;
    let a = 18.4 / (2.0 * t);
    let step = std::f64::consts::PI / t;
    let term = |k: i32| transform(Complex { re: a, im: f64::from(k) * step }).re;
    let scale = (a * t).exp() / t;
    let mut sum = 0.5 * term(0);
    let mut partial = Vec::new();
    for k in 1..=TERMS + AVERAGED {
        sum += if k % 2 == 0 { term(k) } else { -term(k) };
        if k >= TERMS {
            partial.push(sum);
        }
    }
    let mut weight = 0.5_f64.powi(AVERAGED);
    let mut average = 0.0;
    for (at, sum) in partial.iter().enumerate() {
        average += weight * sum;
        weight *= f64::from(AVERAGED - at as i32) / f64::from(at as i32 + 1);
    }
    scale * average
}
