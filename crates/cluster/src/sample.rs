//! A sample workload: a web server on Windows and one on Linux, each behind a
//! Service. [`sample_objects`] builds the manifests.

mod status;

use std::fmt;

use casement_catalog::{WindowsRelease, windows_of_build};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::OWNED_LABEL;
use crate::change::{ApplyOutcome, ObjectRef};
use crate::client::ClusterClient;
use crate::error::ClusterError;
use crate::facts::ObservedCluster;
use crate::permissions::Permission;

pub use status::{SamplePart, SampleService, SampleStatus};

/// The name and label of all sample objects.
const NAME: &str = "casement-sample";
const PART_OF: &str = "app.kubernetes.io/part-of";
const COMPONENT: &str = "app.kubernetes.io/component";
/// Serves a page without configuration; has one image per Windows release.
const WINDOWS_IMAGE: &str = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-";
const LINUX_IMAGE: &str = "docker.io/library/nginx:1.29-alpine";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expose {
    ClusterIp,
    NodePort,
    LoadBalancer,
}

impl fmt::Display for Expose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ClusterIp => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::LoadBalancer => "LoadBalancer",
        })
    }
}

#[derive(Debug, Clone)]
pub struct Sample {
    pub namespace: String,
    pub expose: Expose,
    /// Per Windows release, and on Linux.
    pub replicas: u32,
    /// The Windows builds of the cluster's nodes.
    pub windows: Vec<u32>,
    /// Whether to deploy on Linux, too.
    pub linux: bool,
    /// Replaces the default image; must run on all builds.
    pub windows_image: Option<String>,
    /// Replaces the default image.
    pub linux_image: Option<String>,
}

impl Sample {
    /// One pod per Windows release of the cluster's nodes, and one on Linux.
    pub fn of(facts: &ObservedCluster, namespace: &str, expose: Expose) -> Self {
        let builds = facts.nodes.iter().filter_map(|node| node.windows_build());
        let mut windows: Vec<u32> = builds.collect();
        windows.sort_unstable();
        windows.dedup();
        Self {
            namespace: namespace.to_owned(),
            expose,
            replicas: 1,
            windows,
            linux: facts.nodes.iter().any(|node| node.os == "linux"),
            windows_image: None,
            linux_image: None,
        }
    }
}

/// Needed to deploy, observe and delete the sample.
pub fn sample_permissions(namespace: &str) -> Vec<Permission> {
    let deployments = ["get", "list", "create", "patch", "delete"]
        .map(|verb| Permission::within(namespace, verb, "apps", "deployments"));
    let services = ["get", "list", "create", "patch", "delete"]
        .map(|verb| Permission::within(namespace, verb, "", "services"));
    let pods = ["list", "watch"].map(|verb| Permission::within(namespace, verb, "", "pods"));
    deployments
        .into_iter()
        .chain(services)
        .chain(pods)
        .collect()
}

/// One Deployment per Windows release, because an image runs only on its own build,
/// all behind one Service; and one of each for Linux.
pub fn sample_objects(sample: &Sample) -> Vec<Value> {
    let mut objects = Vec::new();
    for build in &sample.windows {
        objects.push(on_windows(sample, *build));
    }
    if !sample.windows.is_empty() {
        objects.push(service(sample, "windows"));
    }
    if sample.linux {
        objects.push(on_linux(sample));
        objects.push(service(sample, "linux"));
    }
    objects
}

fn on_windows(sample: &Sample, build: u32) -> Value {
    let release = windows_of_build(build);
    let year = release.map_or_else(|| build.to_string(), year);
    let image = sample.windows_image.clone().unwrap_or_else(|| {
        let tag = release.and_then(|release| release.servercore);
        format!("{WINDOWS_IMAGE}{}", tag.unwrap_or("ltsc2022"))
    });
    let name = format!("{NAME}-windows-{year}");
    let pod = json!({
        "os": {"name": "windows"},
        // The scheduler ignores `os`.
        "nodeSelector": {
            "kubernetes.io/os": "windows",
            "node.kubernetes.io/windows-build": format!("10.0.{build}"),
        },
        "tolerations": [{
            "key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule",
        }],
        // The first pull of Server Core takes minutes, starting IIS several seconds.
        "containers": [container(&image, json!({
            "requests": {"cpu": "100m", "memory": "256Mi"},
            "limits": {"cpu": "1", "memory": "800Mi"},
        }), 10)],
    });
    deployment(sample, &name, "windows", pod)
}

fn on_linux(sample: &Sample) -> Value {
    let image = sample.linux_image.as_deref().unwrap_or(LINUX_IMAGE);
    let pod = json!({
        "os": {"name": "linux"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [container(image, json!({
            "requests": {"cpu": "50m", "memory": "32Mi"},
            "limits": {"cpu": "500m", "memory": "128Mi"},
        }), 2)],
    });
    deployment(sample, &format!("{NAME}-linux"), "linux", pod)
}

fn container(image: &str, resources: Value, period: u32) -> Value {
    json!({
        "name": "web",
        "image": image,
        "ports": [{"name": "http", "containerPort": 80}],
        "resources": resources,
        "readinessProbe": {
            "httpGet": {"path": "/", "port": 80},
            "periodSeconds": period,
            "timeoutSeconds": 5,
        },
    })
}

fn deployment(sample: &Sample, name: &str, component: &str, pod: Value) -> Value {
    let selector = json!({"app.kubernetes.io/name": name});
    let mut labels = labels(component);
    labels["app.kubernetes.io/name"] = json!(name);
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": sample.namespace, "labels": labels},
        "spec": {
            "replicas": sample.replicas,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}

fn service(sample: &Sample, component: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": format!("{NAME}-{component}"),
            "namespace": sample.namespace,
            "labels": labels(component),
        },
        "spec": {
            "type": sample.expose.to_string(),
            "selector": {PART_OF: NAME, COMPONENT: component},
            "ports": [{"name": "http", "port": 80, "targetPort": 80}],
        },
    })
}

fn labels(component: &str) -> Value {
    let (key, value) = OWNED_LABEL;
    json!({key: value, PART_OF: NAME, COMPONENT: component})
}

/// `2022`, of `Server 2022`.
fn year(release: &'static WindowsRelease) -> String {
    let name = release.name.strip_prefix("Server ");
    name.unwrap_or(release.name).to_lowercase()
}

impl ClusterClient {
    /// Creates or updates the sample; returns the outcome per object.
    pub async fn deploy_sample(
        &self,
        sample: &Sample,
    ) -> Result<Vec<(ObjectRef, ApplyOutcome)>, ClusterError> {
        let mut outcomes = Vec::new();
        for manifest in sample_objects(sample) {
            match self.plan_owned(&manifest).await? {
                Some(change) => {
                    let outcome = self.apply(&change).await?;
                    outcomes.push((change.object, outcome));
                }
                None => outcomes.push((crate::owned::reference(&manifest)?, ApplyOutcome::Already)),
            }
        }
        Ok(outcomes)
    }

    /// Returns the objects that were deleted.
    pub async fn delete_sample(&self, namespace: &str) -> Result<Vec<ObjectRef>, ClusterError> {
        let mut deleted = Vec::new();
        for object in self.sample_parts(namespace).await? {
            if let Some(removal) = self.plan_removal(&object).await?
                && self.apply(&removal).await? == ApplyOutcome::Changed
            {
                deleted.push(object);
            }
        }
        Ok(deleted)
    }

    async fn sample_parts(&self, namespace: &str) -> Result<Vec<ObjectRef>, ClusterError> {
        let params = ListParams::default().labels(&format!("{PART_OF}={NAME}"));
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        let sets: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let services = services.list_metadata(&params).await;
        let services = services.map_err(self.failed("list Services"))?;
        let sets = sets.list_metadata(&params).await;
        let sets = sets.map_err(self.failed("list Deployments"))?;
        let services = services.items.into_iter();
        let services = services.map(|it| ("v1", "Service", it.metadata.name));
        let sets = sets.items.into_iter();
        let sets = sets.map(|it| ("apps/v1", "Deployment", it.metadata.name));
        let parts = services.chain(sets).map(|(version, kind, name)| {
            ObjectRef::new(version, kind, Some(namespace), &name.unwrap_or_default())
        });
        Ok(parts.collect())
    }
}

#[cfg(test)]
mod tests;
