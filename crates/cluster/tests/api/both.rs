//! The same tests against the lab's embedded API server and against the real one of
//! a lab that is up: a difference is a bug of the embedded one, or a gap that
//! `docs/lab.md` lists.

mod answers;
mod changes;
mod facts;
mod nodes;
mod rights;
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
    nodes {
        a_watch_tells_the_reason_and_every_change,
        a_cordon_by_somebody_else_stays,
    }
    rights {
        the_documented_roles_are_enough_and_one_less_is_told,
    }
    tokens {
        a_token_is_accepted_until_it_is_deleted,
        leftovers_of_these_hosts_go_and_others_stay,
    }
}
