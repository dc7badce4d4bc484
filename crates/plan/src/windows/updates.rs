//! Windows updates.

use casement_catalog::{KNOWN_BAD, UPDATE_FLOORS};
use casement_resource::{Artifact, ArtifactFormat, Resource, UpdateFloor, WindowsUpdate};
use casement_spec::WindowsUpdate as RequestedUpdate;

use crate::facts::Inputs;
use crate::kubelet::Kubelet;
use crate::steps::{PlanError, Steps, path};

/// The installer extracts hundreds of megabytes.
const TIMEOUT_SECONDS: u32 = 3600;

/// The first revision of each build that contains an update, as far as the catalog knows.
pub(crate) fn floors(article: &str) -> Vec<UpdateFloor> {
    let floors = UPDATE_FLOORS.iter().filter(|floor| floor.update == article);
    let floors = floors.map(|floor| (floor.build, floor.revision));
    let fixes = KNOWN_BAD.iter().filter(|fault| fault.fixed_by == article);
    let fixes = fixes.map(|fault| (fault.build, fault.until));
    let mut known: Vec<(u32, u32)> = floors.chain(fixes).collect();
    known.sort_unstable();
    known.dedup_by_key(|(build, _)| *build);
    known
        .into_iter()
        .map(|(build, revision)| UpdateFloor { build, revision })
        .collect()
}

/// Returns the id and the article of each step.
pub(super) fn updates(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    inputs: &Inputs,
) -> Result<Vec<(String, String)>, PlanError> {
    let mut added = Vec::new();
    for update in &kubelet.cluster.spec.windows.updates {
        let (article, package) = match update {
            RequestedUpdate::Kb(_) => (update.to_string(), None),
            RequestedUpdate::Package(file) => (article(file.as_str()), Some(file.as_str())),
        };
        let id = format!("update-{}", article.to_ascii_lowercase());
        let package = match package {
            None => None,
            Some(file) => match package_step(steps, kubelet, inputs, &id, file)? {
                None => continue,
                Some(file_path) => Some(file_path),
            },
        };
        let after = package.as_ref().map(|_| format!("bin-{id}"));
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        let update = WindowsUpdate {
            floors: floors(&article),
            article: article.clone(),
            package: package.map(|file_path| path(&file_path)).transpose()?,
            timeout_seconds: TIMEOUT_SECONDS,
        };
        steps.add(&id, &after, Resource::WindowsUpdate(update))?;
        added.push((id, article));
    }
    Ok(added)
}

/// `None` if the package is not known and the plan is only shown.
fn package_step(
    steps: &mut Steps,
    kubelet: &Kubelet<'_>,
    inputs: &Inputs,
    id: &str,
    file: &str,
) -> Result<Option<String>, PlanError> {
    let Some(blob) = inputs.updates.get(file) else {
        if inputs.allow_missing_programs {
            return Ok(None);
        }
        return Err(PlanError::NoUpdate(file.to_owned()));
    };
    let paths = kubelet.paths;
    let folder = paths.below(&paths.programs, &["updates"]);
    let file_path = paths.below(&folder, &[name(file)]);
    let artifact = Artifact {
        sha256: blob.sha256,
        size: blob.size,
        format: ArtifactFormat::Plain,
        destination: path(&file_path)?,
        members: Vec::new(),
        access: Default::default(),
    };
    let id = format!("bin-{id}");
    steps.add(&id, &["dir-base"], Resource::Artifact(artifact))?;
    Ok(Some(file_path))
}

fn name(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// The article in the package's name (`windows10.0-kb5012637-x64.msu`), or the name itself.
fn article(file: &str) -> String {
    let name = name(file).to_ascii_lowercase();
    let stem = name.trim_end_matches(".msu");
    let mut parts = stem.split(['-', '_', '.']);
    let number = parts.find_map(|part| {
        let digits = part.strip_prefix("kb")?;
        let all = digits.len() >= 6 && digits.chars().all(|it| it.is_ascii_digit());
        all.then_some(digits)
    });
    number.map_or_else(|| stem.to_owned(), |digits| format!("KB{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_build_of_an_article_has_a_floor() {
        let floor = |build, revision| UpdateFloor { build, revision };
        assert_eq!(floors("KB5012637"), [floor(20348, 681)]);
        assert_eq!(floors("KB5044281"), [floor(20348, 2762)]);
        assert_eq!(floors("KB1"), []);
    }

    #[test]
    fn article_comes_from_the_package_name() {
        assert_eq!(article("./a/windows10.0-kb5012637-x64.msu"), "KB5012637");
        assert_eq!(
            article(r"C:\a\Windows10.0-KB5012637-x64_1.msu"),
            "KB5012637"
        );
        assert_eq!(article("own.msu"), "own");
    }
}
