//! Published servers of tools, which npm or pip installs.

use codeinfo_test_support::toolkit::stdio;
use codeinfo_toolkits::spec::ToolkitSpec;

use super::install::{self, Parts};

pub(crate) const VERSION: &str = "2026.8.31";

/// A published server, which runs on Node.
pub(crate) fn published(server: &str, arguments: &[&str]) -> ToolkitSpec {
    let package = format!("@modelcontextprotocol/{server}");
    let folder = format!("{server}-{VERSION}");
    let folder = install::npm(&folder, &format!("{package}@{VERSION}"), Parts::Needed);
    let program = folder.join("node_modules").join(package).join("dist/index.js");
    let mut args = vec![program.display().to_string()];
    args.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    stdio(install::node().to_str().unwrap(), args)
}

/// A published server, which runs on Python.
pub(crate) fn published_python(package: &str, version: &str) -> ToolkitSpec {
    let requirement = format!("{package}=={version}");
    let python = install::python(&format!("{package}-{version}"), &requirement);
    stdio(python.with_file_name(package).to_str().unwrap(), Vec::new())
}
