//! A person who has proven who they are.

use midrail_core::Authorities;

/// A person who answers requests or administers Midrail, after they have proven who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: String,
    roles: Vec<String>,
}

impl Person {
    /// A person whom the calling program has authenticated.
    pub fn authenticated<R: Into<String>>(
        name: impl Into<String>,
        roles: impl IntoIterator<Item = R>,
    ) -> Self {
        Person { name: name.into(), roles: roles.into_iter().map(Into::into).collect() }
    }

    /// The person's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The person's roles.
    pub fn roles(&self) -> &[String] {
        &self.roles
    }

    /// Whether the person has one of the given roles.
    pub(crate) fn has_role<'r>(&self, roles: impl IntoIterator<Item = &'r String>) -> bool {
        roles.into_iter().any(|role| self.roles.contains(role))
    }

    /// The person's role with the most authority that may decide a request addressed to a role.
    pub(crate) fn role_for(&self, addressed: &str, authorities: &Authorities) -> Option<&str> {
        let rank = |role: &str| authorities.order.iter().position(|other| other == role);
        let roles = self.roles.iter().map(String::as_str);
        roles.filter(|role| authorities.may_decide(role, addressed)).max_by_key(|role| rank(role))
    }
}
