//! The cumulative rate of a profile and its exact inverse: how many arrivals are expected by a time, and by which time
//! a number of arrivals is expected.
//!
//! Plain arithmetic over times since the profile's start; it draws nothing.

use std::f64::consts::TAU;

use weighbridge_model::experiment::Profile;

/// Most steps of the search for the inverse of a sine: halving a day down to less than a nanosecond takes 47.
const HALVINGS: u32 = 64;

/// Λ(t) = ∫₀ᵗ rate and its inverse. Times are in nanoseconds; a profile repeats after its end.
#[derive(Debug, Clone)]
pub struct Cumulative {
    form: Form,
    /// Length of one passage and expected arrivals in it; infinite if the rate never changes.
    length: f64,
    whole: f64,
}

#[derive(Debug, Clone)]
enum Form {
    /// Nanoseconds between arrivals.
    Constant { gap: f64 },
    /// Rates that change linearly.
    Pieces(Vec<Stretch>),
    /// Rates per nanosecond.
    Sine { mean: f64, amplitude: f64, period: f64 },
}

/// A stretch over which the rate changes linearly.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// When it begins, and how much has arrived by then.
    start: f64,
    before: f64,
    /// Rate per nanosecond at its beginning, and its change per nanosecond.
    rate: f64,
    slope: f64,
}

impl Cumulative {
    /// The cumulative rate of `profile`.
    pub fn new(profile: &Profile) -> Self {
        let nanos = |time: weighbridge_model::quantity::Nanoseconds| time.as_nanos() as f64;
        let straight = |stretches: Vec<(f64, f64, f64)>| {
            let (mut pieces, mut start, mut before) = (Vec::with_capacity(stretches.len()), 0.0, 0.0);
            for (from, to, lasts) in stretches {
                let (rate, slope) = (from / 1e9, (to - from) / 1e9 / lasts);
                pieces.push(Stretch { start, before, rate, slope });
                // In this order of factors, whole rates over whole seconds give whole numbers.
                before += (from + to) / 2.0 * lasts / 1e9;
                start += lasts;
            }
            Self { form: Form::Pieces(pieces), length: start, whole: before }
        };
        match profile {
            Profile::Constant { rate } => Self {
                form: Form::Constant { gap: 1e9 / rate.get() },
                length: f64::INFINITY,
                whole: f64::INFINITY,
            },
            Profile::Steps { steps } => straight(
                steps.iter().map(|step| (step.rate.get(), step.rate.get(), nanos(step.lasts))).collect(),
            ),
            Profile::Ramp { from, to, over } => straight(vec![(from.get(), to.get(), nanos(*over))]),
            Profile::Burst { base, peak, every, length } => straight(vec![
                (peak.get(), peak.get(), nanos(*length)),
                (base.get(), base.get(), nanos(*every) - nanos(*length)),
            ]),
            Profile::Sine { mean, amplitude, period } => {
                let (mean, amplitude, period) = (mean.get() / 1e9, amplitude.get() / 1e9, nanos(*period));
                Self { form: Form::Sine { mean, amplitude, period }, length: period, whole: mean * period }
            }
        }
    }

    /// Expected arrivals from the start to `time` nanoseconds.
    pub fn arrivals_by(&self, time: f64) -> f64 {
        if let Form::Constant { gap } = self.form {
            return time / gap;
        }
        let passages = (time / self.length).floor();
        passages * self.whole + self.within(time - passages * self.length)
    }

    /// The earliest time, in nanoseconds, after which more than `arrivals` are expected; infinite if there is none. If
    /// the rate is zero for a while, this is the end of that while, because arrivals happen only at a positive rate.
    pub fn time_of(&self, arrivals: f64) -> f64 {
        if let Form::Constant { gap } = self.form {
            return arrivals * gap;
        }
        let passages = (arrivals / self.whole).floor();
        let rest = (arrivals - passages * self.whole).clamp(0.0, self.whole);
        passages * self.length + self.invert(rest)
    }

    /// Expected arrivals in the first `time` nanoseconds of a passage.
    fn within(&self, time: f64) -> f64 {
        match &self.form {
            Form::Constant { gap } => time / gap,
            Form::Pieces(pieces) => {
                let at = pieces.partition_point(|piece| piece.start <= time).saturating_sub(1);
                let Stretch { start, before, rate, slope } = pieces[at];
                let since = time - start;
                before + since * (rate + slope * since / 2.0)
            }
            // ∫ mean + A sin(2πt/T) = mean · t + A T/2π (1 − cos(2πt/T)); 1 − cos x = 2 sin²(x/2) avoids cancellation.
            Form::Sine { mean, amplitude, period } => {
                let half = (TAU / 2.0 * time / period).sin();
                mean * time + amplitude * period / TAU * 2.0 * half * half
            }
        }
    }

    /// The inverse of [`within`](Self::within).
    fn invert(&self, arrivals: f64) -> f64 {
        match &self.form {
            Form::Constant { gap } => arrivals * gap,
            Form::Pieces(pieces) => {
                let mut at = pieces.partition_point(|piece| piece.before <= arrivals).saturating_sub(1);
                // Of pieces that begin at the same count, all but the last have rate zero.
                while at > 0 && pieces[at].rate == 0.0 && pieces[at].slope == 0.0 {
                    at -= 1;
                }
                let Stretch { start, before, rate, slope } = pieces[at];
                let more = arrivals - before;
                if more <= 0.0 {
                    return start;
                }
                // rate · t + slope · t²/2 = more, by the form of the root that neither cancels nor divides by a slope
                // of 0.
                let root = (rate * rate + 2.0 * slope * more).max(0.0).sqrt();
                start + 2.0 * more / (rate + root)
            }
            Form::Sine { period, .. } => self.search(arrivals, *period),
        }
    }

    /// Newton's method within an interval that is halved whenever a step would leave it.
    fn search(&self, arrivals: f64, period: f64) -> f64 {
        let Form::Sine { mean, amplitude, .. } = self.form else { return 0.0 };
        let (mut low, mut high) = (0.0, period);
        let mut time = arrivals / mean;
        for _ in 0..HALVINGS {
            let off = self.within(time) - arrivals;
            if off > 0.0 {
                high = time
            } else {
                low = time
            }
            let rate = mean + amplitude * (TAU * time / period).sin();
            let step = time - off / rate;
            let next = if step > low && step < high { step } else { (low + high) / 2.0 };
            if (next - time).abs() < 0.25 || high - low < 0.25 {
                return next;
            }
            time = next;
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::quantity::Nanoseconds;

    const S: f64 = 1e9;

    fn cumulative(text: &str) -> Cumulative {
        Cumulative::new(&text.parse().expect("a profile"))
    }

    /// The trapezoidal rule over the profile's rate, as an independent integral.
    fn integral(rate: impl Fn(f64) -> f64, to: f64) -> f64 {
        let steps = 200_000;
        let width = to / f64::from(steps);
        let sum: f64 =
            (0..steps).map(|k| (rate(width * f64::from(k)) + rate(width * f64::from(k + 1))) / 2.0).sum();
        sum * width / S
    }

    #[test]
    fn the_inverse_undoes_the_integral_to_the_nanosecond() {
        for text in [
            "steps:100/s for 1s, 0/s for 500ms, 2500/s for 3s",
            "ramp:0/s..5000/s over 30s",
            "ramp:5000/s..0/s over 30s",
            "ramp:1000/s..1000/s over 1s",
            "sine:3000/s +- 1000/s every 10s",
            "sine:3000/s +- 3000/s every 1h",
            "burst:10/s..5000/s for 200ms every 2s",
        ] {
            let law = cumulative(text);
            for k in 0..20_000u32 {
                let arrivals = f64::from(k) * 0.73;
                let time = law.time_of(arrivals);
                let back = law.arrivals_by(time);
                // Where the rate is almost zero a nanosecond contains almost no arrivals, so the error is bounded in
                // time.
                let near = law.arrivals_by(time + 1.0) - law.arrivals_by((time - 1.0).max(0.0));
                assert!((back - arrivals).abs() <= near + 1e-6, "{text}: {arrivals} → {time} → {back}");
            }
        }
    }

    #[test]
    fn the_sine_s_integral_is_that_of_its_rate() {
        let sine = cumulative("sine:3000/s +- 2000/s every 10s");
        for to in [0.1, 1.0, 2.5, 5.0, 7.5, 9.99, 10.0, 23.4] {
            let expected = integral(|t| 3000.0 + 2000.0 * (TAU * t / (10.0 * S)).sin(), to * S);
            assert!((sine.arrivals_by(to * S) - expected).abs() < 1e-4 * expected.max(1.0), "{to} s");
        }
        // By hand: the first half wave has mean · T/2 + A · T/π arrivals.
        let half = 3000.0 * 5.0 + 2000.0 * 10.0 / std::f64::consts::PI;
        assert!((sine.arrivals_by(5.0 * S) - half).abs() < 1e-6);
        assert!((sine.arrivals_by(10.0 * S) - 30_000.0).abs() < 1e-6);
    }

    #[test]
    fn breakpoints_are_exact() {
        let steps = cumulative("steps:100/s for 1s, 0/s for 1s, 200/s for 1s");
        assert_eq!(steps.time_of(99.0), 0.99 * S);
        assert_eq!(steps.time_of(100.0), 2.0 * S, "nothing arrives where the rate is zero");
        assert_eq!(steps.time_of(101.0), 2.005 * S);
        assert_eq!(steps.time_of(300.0), 3.0 * S, "it starts again");
        assert_eq!(steps.arrivals_by(1.0 * S), 100.0);
        assert_eq!(steps.arrivals_by(1.7 * S), 100.0);
        let burst = cumulative("burst:0/s..1000/s for 100ms every 1s");
        assert_eq!((burst.time_of(99.0), burst.time_of(100.0)), (99e6, 1.0 * S));
        let leading = cumulative("steps:0/s for 2s, 10/s for 1s");
        assert_eq!(leading.time_of(0.0), 2.0 * S);
        let trailing = cumulative("steps:10/s for 1s, 0/s for 2s");
        assert_eq!((trailing.time_of(9.0), trailing.time_of(10.0)), (0.9 * S, 3.0 * S));
        let ramp = cumulative("ramp:0/s..1000/s over 10s");
        assert_eq!((ramp.arrivals_by(5.0 * S), ramp.time_of(1250.0)), (1250.0, 5.0 * S));
    }

    #[test]
    fn means_of_profiles_are_their_integrals() {
        for text in [
            "steps:100/s for 1s, 0/s for 500ms, 2500/s for 3s",
            "ramp:0/s..5000/s over 30s",
            "sine:3000/s +- 1000/s every 10s",
            "burst:10/s..5000/s for 200ms every 2s",
        ] {
            let profile: Profile = text.parse().expect("a profile");
            let length = profile.length().unwrap_or(Nanoseconds::ZERO).as_nanos() as f64;
            let mean = Cumulative::new(&profile).arrivals_by(length) / length * S;
            assert!((profile.mean().get() / mean - 1.0).abs() < 1e-12, "{text}");
        }
    }
}
