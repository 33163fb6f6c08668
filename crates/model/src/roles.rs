//! The roles of cases that several hosts divide among them.

use crate::plan::{Plan, Planned, Role};

impl Plan {
    /// Gives cases that are measured elsewhere the roles that they have for another host.
    pub fn add_roles(&mut self, other: &Plan) {
        let elsewhere = |(own, _): &(&mut Planned, &Planned)| own.role == Role::Elsewhere;
        let both = self.cases.iter_mut().zip(&other.cases).filter(elsewhere);
        both.filter(|(own, theirs)| own.case == theirs.case)
            .for_each(|(own, theirs)| own.role = theirs.role);
    }
}
