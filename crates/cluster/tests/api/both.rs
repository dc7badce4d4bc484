//! The same tests against the embedded API server and the real one of a running lab:
//! a difference is a bug of the embedded server or a gap listed in `docs/lab.md`.

mod calico;
mod changes;
mod csr;
mod facts;
mod flannel;
mod nodes;
mod permissions;
mod responses;
mod samples;
mod tokens;

/// Makes each function two tests: `embedded` has no requirements, `outside` needs a lab
/// in the folder `CASEMENT_TEST_LAB`. A function missing from the list is reported as
/// dead code.
macro_rules! on_both {
    ($($module:ident { $($name:ident),* $(,)? })*) => {
        mod embedded {
            $(mod $module {
                use crate::both::$module;
                use crate::server::Server;
                $(
                    #[tokio::test]
                    async fn $name() {
                        $module::$name(&Server::embedded()).await;
                    }
                )*
            })*
        }
        mod outside {
            $(mod $module {
                use crate::both::$module;
                use crate::server::Server;
                $(
                    #[tokio::test]
                    #[ignore = "needs root and go"]
                    async fn $name() {
                        $module::$name(&Server::of_the_lab()).await;
                    }
                )*
            })*
        }
    };
}

on_both! {
    responses {
        responses_match_kubernetes,
    }
    calico {
        calico_settings_are_checked_before_anything_changes,
    }
    changes {
        a_selector_is_added_and_restored,
        an_edit_after_the_plan_is_a_conflict,
        an_edit_after_the_change_survives_the_restore,
        owned_objects_are_created_and_deleted,
        a_foreign_object_is_never_taken_over,
        a_patch_test_for_null_means_absent,
    }
    facts {
        facts_match_kubeadm_config,
        a_server_with_another_ca_is_not_trusted,
    }
    flannel {
        an_overlay_change_is_planned_applied_checked_and_restored,
        an_edit_of_another_key_survives_and_a_conflicting_one_is_reported,
        an_edit_after_planning_stops_the_change,
        an_interrupted_run_resumes_with_the_restart,
    }
    nodes {
        a_watch_reports_the_reason_and_every_change,
        a_foreign_cordon_is_kept,
        a_taint_is_added_and_others_are_kept,
        drain_evicts_all_but_daemon_set_pods,
    }
    csr {
        only_its_own_request_is_approved_and_only_without_an_approver,
    }
    permissions {
        documented_roles_suffice_and_a_missing_permission_is_reported,
    }
    samples {
        a_sample_is_deployed_once_and_fully_deleted,
        a_foreign_service_is_not_taken_over,
    }
    tokens {
        a_token_is_accepted_until_it_is_deleted,
        only_leftover_tokens_of_these_hosts_are_deleted,
    }
}
