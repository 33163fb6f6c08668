//! The colors of all pictures, for light and for dark pages. Pictures use the light ones; a style
//! sheet replaces them on dark pages.

/// The use of a color determines its minimum contrast with the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorUse {
    /// To be read: a contrast of at least 4.5 (WCAG 2, AA).
    Text,
    /// To be seen: at least 3.
    Line,
    /// Guides the eye, and carries no information.
    Grid,
    /// Background of texts.
    Ground,
    /// Text on such a background.
    OnGround,
}

/// A color in both schemes, as 0xRRGGBB. The light one is unique and identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colour {
    pub(crate) light: u32,
    pub(crate) dark: u32,
    pub(crate) used: ColorUse,
}

const fn colour(used: ColorUse, light: u32, dark: u32) -> Colour {
    Colour { light, dark, used }
}

/// The page. Only pictures in their own files have a background.
pub(crate) const PAPER: Colour = colour(ColorUse::Ground, 0xFFFFFF, 0x0D1117);
/// Texts and measured values.
pub(crate) const INK: Colour = colour(ColorUse::Text, 0x1F2328, 0xE6EDF3);
/// Secondary texts.
pub(crate) const FAINT: Colour = colour(ColorUse::Text, 0x59636E, 0x9198A1);
/// Void figures.
pub(crate) const VOID: Colour = colour(ColorUse::Text, 0xCF222E, 0xFF7B72);
/// Grid lines, and hatching behind texts.
pub(crate) const GRID: Colour = colour(ColorUse::Grid, 0xD1D9E0, 0x3D444D);

/// The colors of series, in an order that makes neighbors differ most, including for color-blind
/// readers.
pub(crate) const SERIES: [Colour; 7] = [
    colour(ColorUse::Line, 0x0A6FDB, 0x3B82F6),
    colour(ColorUse::Line, 0xDB6100, 0xF0883E),
    colour(ColorUse::Line, 0x006B5B, 0x00D1A0),
    colour(ColorUse::Line, 0x5B2A86, 0xD8BFFF),
    colour(ColorUse::Line, 0x6B5200, 0xF7DC6F),
    colour(ColorUse::Line, 0xD6409F, 0xE0409A),
    colour(ColorUse::Line, 0x3D444E, 0xA9B2BC),
];

/// The backgrounds of a heat map, from the palest to the deepest, which stands out most.
pub(crate) const SHADES: [Colour; crate::style::SHADES as usize] = [
    colour(ColorUse::Ground, 0xE4F1FE, 0x14253B),
    colour(ColorUse::Ground, 0xBBDDFB, 0x1A3A63),
    colour(ColorUse::Ground, 0x86C1F7, 0x22518C),
    colour(ColorUse::Ground, 0x1F6FD0, 0x62A9F7),
    colour(ColorUse::Ground, 0x0B3B82, 0xB4D8FE),
];

/// From this shade on, texts use [`ON_DEEP`].
const DEEP_FROM: usize = 3;
/// Texts on the paler shades.
const ON_COOL: Colour = colour(ColorUse::OnGround, 0x1B1F24, 0xF0F6FC);
/// Texts on the deeper shades.
const ON_DEEP: Colour = colour(ColorUse::OnGround, 0xFEFEFE, 0x010409);

/// The color of texts on a shade.
pub(crate) fn on_shade(shade: usize) -> Colour {
    if shade >= DEEP_FROM { ON_DEEP } else { ON_COOL }
}

/// All colors.
fn all() -> impl Iterator<Item = Colour> {
    let texts = [PAPER, INK, FAINT, VOID, GRID, ON_COOL, ON_DEEP];
    texts.into_iter().chain(SERIES).chain(SHADES)
}

/// The style sheet that adapts pictures to dark mode. Printed pages stay light.
pub(crate) fn scheme_css() -> String {
    let mut css = String::from("@media screen and (prefers-color-scheme:dark){\n");
    for Colour { light, dark, .. } in all() {
        css.push_str(&format!(
            ".plot [fill=\"#{light:06X}\"]{{fill:#{dark:06X}}}\
             .plot [stroke=\"#{light:06X}\"]{{stroke:#{dark:06X}}}\n"
        ));
    }
    css.push_str("}\n");
    css
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Red, green and blue in linear light, 0 to 1.
    fn linear(rgb: u32) -> [f64; 3] {
        [16, 8, 0].map(|shift| {
            let share = f64::from(rgb >> shift & 0xFF) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        })
    }

    fn dot(factors: [f64; 3], values: [f64; 3]) -> f64 {
        factors.iter().zip(values).map(|(factor, value)| factor * value).sum()
    }

    /// The contrast of WCAG 2, 1 to 21.
    fn contrast(one: u32, other: u32) -> f64 {
        let light = |rgb| dot([0.2126, 0.7152, 0.0722], linear(rgb)) + 0.05;
        let (one, other) = (light(one), light(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn what_is_read_stands_out_from_the_page_in_both_schemes() {
        for colour in all() {
            let least = match colour.used {
                ColorUse::Text => 4.5,
                ColorUse::Line => 3.0,
                ColorUse::Grid => 1.2,
                ColorUse::Ground | ColorUse::OnGround => continue,
            };
            for (own, page) in [(colour.light, PAPER.light), (colour.dark, PAPER.dark)] {
                let contrast = contrast(own, page);
                assert!(contrast >= least, "#{own:06X} on #{page:06X}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn texts_stand_out_from_their_shade_in_both_schemes() {
        for (index, ground) in SHADES.iter().enumerate() {
            let text = on_shade(index);
            for (own, ground) in [(text.light, ground.light), (text.dark, ground.dark)] {
                let contrast = contrast(own, ground);
                assert!(contrast >= 4.5, "#{own:06X} on #{ground:06X}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn each_colour_has_one_twin() {
        let light: HashSet<u32> = all().map(|colour| colour.light).collect();
        assert_eq!(light.len(), all().count());
        let css = scheme_css();
        assert_eq!(css.matches("{fill:").count(), all().count(), "{css}");
        assert_eq!(css.matches('{').count(), css.matches('}').count());
    }

    /// CIE L*a*b* in daylight.
    fn lab(rgb: [f64; 3]) -> [f64; 3] {
        let rgb = rgb.map(|share| share.clamp(0.0, 1.0));
        let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = f(dot([0.4124, 0.3576, 0.1805], rgb) / 0.9505);
        let y = f(dot([0.2126, 0.7152, 0.0722], rgb));
        let z = f(dot([0.0193, 0.1192, 0.9505], rgb) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Normal vision, and vision without red, green or blue cones (Machado, Oliveira and Fernandes
    /// 2009, severity 1).
    const EYES: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ];

    /// A distance of 2.3 is just noticeable side by side; lines are thin and far apart.
    #[test]
    fn every_eye_tells_series_apart() {
        for eye in EYES {
            let seen = |rgb| lab(eye.map(|row| dot(row, linear(rgb))));
            let scheme = |of: fn(&Colour) -> u32| SERIES.iter().map(of).collect::<Vec<u32>>();
            for colours in [scheme(|colour| colour.light), scheme(|colour| colour.dark)] {
                for (index, one) in colours.iter().enumerate() {
                    for other in &colours[index + 1..] {
                        let (a, b) = (seen(*one), seen(*other));
                        let squares = (0..3).map(|axis| (a[axis] - b[axis]).powi(2));
                        let distance = squares.sum::<f64>().sqrt();
                        assert!(distance >= 10.0, "#{one:06X}, #{other:06X}: {distance:.1}");
                    }
                }
            }
        }
    }
}
