//! Axes whose value is a field of the work.

/// The defaults of an axis whose value is the name in this field of the work.
macro_rules! name_of {
    ($work:ident, $work_mut:ident, $field:ident) => {
        Axis {
            get: |case| Some(case.$work()?.$field.to_string()),
            set: |case, text| put(case.$work_mut().map(|work| &mut work.$field), text.parse()),
            ..Axis::PLAIN
        }
    };
}

/// The same for a number of bytes.
macro_rules! bytes_of {
    ($work:ident, $work_mut:ident, $field:ident) => {
        Axis {
            get: |case| Some(units::bytes(case.$work()?.$field)),
            set: |case, text| {
                put(case.$work_mut().map(|work| &mut work.$field), units::parse_bytes(text))
            },
            ..Axis::PLAIN
        }
    };
}
