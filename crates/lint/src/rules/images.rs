//! Container images.

use casement_catalog::{ImageFit, build_of_tag, image_fit};
use casement_diag::Diagnostic;
use casement_source::foreign::Value;
use casement_spec::host_process::missing_overrides;

use crate::context::Context;
use crate::pod::BUILD_LABEL;
use crate::rule::{Rule, rule};

pub(crate) const RULES: &[Rule] = &[
    rule!("CAS-IMG-014", Error, Spec, "-", unpublished),
    rule!("CAS-POD-012", Error, FilesFirst, "L032, I28", other_build),
    rule!("CAS-POD-013", Warning, Files, "L033", floating),
    rule!("CAS-POD-014", Error, Files, "L035", placeholder),
];

/// HostProcess components whose images are not published.
fn unpublished(context: &Context<'_>) -> Vec<Diagnostic> {
    let Some(spec) = context.spec else {
        return Vec::new();
    };
    let mode = spec.cluster.spec.network.mode();
    let missing = missing_overrides(spec.cluster);
    let findings = missing.into_iter().map(|name| {
        let bare = name.strip_prefix("docker.io/").unwrap_or(name);
        let finding = Diagnostic::error(
            context.spec_path("windows.components"),
            format!(
                "`windows.components: host-process` in `{mode}` needs the image `{bare}`, which is \
                 no longer published"
            ),
        );
        context
            .spec_label(finding, "network.mode", "for this network")
            .help(format!(
                "set your own image: `images.overrides: {{{bare}: REGISTRY/IMAGE:TAG}}`, or set \
                 `components: services`"
            ))
    });
    findings.collect()
}

/// The Windows build in the tag of an image.
fn build_of(image: &str) -> Option<u32> {
    let (_, tag) = image
        .split('@')
        .next()?
        .rsplit('/')
        .next()?
        .split_once(':')?;
    build_of_tag(tag)
}

fn runs(host: u32, image: u32) -> bool {
    image_fit(host, image) == ImageFit::Runs
}

fn is_windows_image(image: &str) -> bool {
    let image = image.to_ascii_lowercase();
    [
        "windows/nanoserver",
        "windows/servercore",
        "windows/server",
        "windows/iis",
        "dotnet/framework",
    ]
    .iter()
    .any(|part| image.contains(part))
}

fn other_build(context: &Context<'_>) -> Vec<Diagnostic> {
    let hosts = context.windows_builds();
    let mut findings = Vec::new();
    for pod in context
        .pods
        .iter()
        .filter(|pod| pod.is_windows() && !pod.has_host_process())
    {
        let class = pod
            .spec
            .get("runtimeClassName")
            .and_then(|class| class.text());
        if class.is_some_and(|class| class.contains("hyperv") || class.contains("hypervisor")) {
            continue;
        }
        let selected = pod
            .spec
            .get("nodeSelector")
            .and_then(|selector| selector.get(BUILD_LABEL));
        let selected_build = selected
            .as_ref()
            .and_then(|label| label.text()?.rsplit('.').next()?.parse::<u32>().ok());
        for image in pod
            .containers()
            .iter()
            .filter_map(|container| container.get("image"))
        {
            let Some(build) = image.text().and_then(build_of) else {
                continue;
            };
            let text = image.text().unwrap_or_default();
            if let (Some(label), Some(selected)) = (&selected, selected_build) {
                if !runs(selected, build) {
                    findings.push(
                        mismatch(
                            &image,
                            text,
                            build,
                            &format!("its nodes have build {selected}"),
                        )
                        .label_in(
                            label.file(),
                            label.path().clone(),
                            "the nodes",
                        ),
                    );
                }
            } else if !hosts.is_empty() && !hosts.iter().any(|(_, host)| runs(*host, build)) {
                let known: Vec<_> = hosts
                    .iter()
                    .map(|(host, build)| format!("{host} has build {build}"))
                    .collect();
                findings.push(mismatch(&image, text, build, &known.join(", ")));
            }
        }
    }
    findings
}

fn mismatch(image: &Value<'_>, text: &str, build: u32, nodes: &str) -> Diagnostic {
    image
        .error(format!("`{text}` is for build {build}, but {nodes}"))
        .note("process isolation needs the build of the host; Server 2025 also runs images for 2022")
        .help("use the tag for the build of the host: ltsc2019, ltsc2022 or ltsc2025 (nanoserver for 2019 is `1809`)")
}

fn floating(context: &Context<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for pod in context.pods.iter().filter(|pod| pod.is_windows()) {
        for image in pod
            .containers()
            .iter()
            .filter_map(|container| container.get("image"))
        {
            let text = image.text().unwrap_or_default();
            if !is_windows_image(text) || text.contains('@') || build_of(text).is_some() {
                continue;
            }
            let tag = text
                .rsplit('/')
                .next()
                .and_then(|last| last.split_once(':'))
                .map_or("latest", |(_, tag)| tag);
            findings.push(
                image
                    .warning(format!("the tag `{tag}` does not pin a Windows build and can change to another build"))
                    .help("use a tag with the build, such as `ltsc2022`, or a digest"),
            );
        }
    }
    findings
}

fn placeholder(context: &Context<'_>) -> Vec<Diagnostic> {
    const PLACEHOLDERS: [&str; 6] = ["KUBE_PROXY_VERSION", "VERSION", "${", "{{", "<", "TODO"];
    let mut findings = Vec::new();
    for pod in &context.pods {
        for image in pod
            .containers()
            .iter()
            .filter_map(|container| container.get("image"))
        {
            let text = image.text().unwrap_or_default();
            let Some(placeholder) = PLACEHOLDERS
                .iter()
                .find(|placeholder| text.contains(**placeholder))
            else {
                continue;
            };
            findings.push(
                image
                    .error(format!(
                        "`{text}` of {} contains the placeholder `{placeholder}`",
                        pod.title()
                    ))
                    .note("the file was created from a template, and a value was not filled in")
                    .help("replace it with the version"),
            );
        }
    }
    findings
}
