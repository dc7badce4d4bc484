//! The same tests against the lab's embedded API server and against the real one of
//! a lab that is up: a difference is a bug of the embedded one, or a gap that
//! `docs/lab.md` lists.

#[path = "both/responses.rs"]
mod answers;
mod calico;
mod changes;
mod facts;
mod flannel;
mod nodes;
#[path = "both/csr.rs"]
mod requests;
#[path = "both/permissions.rs"]
mod rights;
mod samples;
mod tokens;

/// Makes each function a test twice over: `embedded` needs nothing, `outside` a lab
/// whose folder `CASEMENT_TEST_LAB` names. A function that is not in the list is
/// dead code, and told as that.
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
    answers {
        answers_are_those_of_kubernetes,
    }
    calico {
        what_windows_needs_of_calico_is_told_before_anything_changes,
    }
    changes {
        a_selector_is_added_and_taken_back,
        an_edit_after_the_plan_is_a_conflict,
        an_edit_after_the_change_survives_the_way_back,
        casements_own_objects_come_and_go,
        an_object_of_that_name_by_somebody_else_is_never_taken_over,
        the_server_takes_a_test_for_null_as_not_there,
    }
    facts {
        facts_are_what_kubeadm_wrote,
        a_server_with_another_ca_is_not_trusted,
    }
    flannel {
        a_change_of_the_overlay_is_planned_made_checked_and_taken_back,
        an_edit_beside_the_overlay_survives_and_one_of_it_is_told,
        an_edit_while_it_was_planned_stops_the_change,
        a_run_that_ended_after_the_file_is_gone_on_with,
    }
    nodes {
        a_watch_tells_the_reason_and_every_change,
        a_cordon_by_somebody_else_stays,
        a_taint_is_added_beside_those_of_others,
        pods_leave_a_node_but_those_of_daemon_sets,
    }
    requests {
        a_request_is_approved_only_where_nobody_does_and_only_its_own,
    }
    rights {
        the_documented_roles_are_enough_and_one_less_is_told,
    }
    samples {
        a_sample_is_deployed_once_and_deleted_whole,
        somebody_elses_service_of_that_name_is_not_taken_over,
    }
    tokens {
        a_token_is_accepted_until_it_is_deleted,
        leftovers_of_these_hosts_go_and_others_stay,
    }
}
