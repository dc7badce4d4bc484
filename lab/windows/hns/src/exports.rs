//! The exported functions. Go callers panic if one is missing.
#![allow(unsafe_code, reason = "exported C functions")]
#![allow(non_snake_case, reason = "names that callers look up")]

use std::ptr;

use lab_wire::hcn::Object;
use windows_sys::core::GUID;

use crate::calls::{self, Code};
use crate::memory::{Handle, TextOut, WideText};

/// The first form is for all objects, the second (create) for all but endpoints.
macro_rules! exports {
    ($object:ident: $enumerate:ident $open:ident $modify:ident $query:ident $delete:ident $close:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $enumerate(
            query: WideText,
            ids: TextOut,
            error: TextOut,
        ) -> Code {
            // SAFETY: the pointers are valid as the C API requires.
            unsafe { calls::enumerate(Object::$object, query, ids, error) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $open(
            id: *const GUID,
            handle: *mut Handle,
            error: TextOut,
        ) -> Code {
            // SAFETY: the pointers are valid as the C API requires.
            unsafe { calls::open(Object::$object, id, handle, error) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $modify(
            handle: Handle,
            settings: WideText,
            error: TextOut,
        ) -> Code {
            // SAFETY: the pointers are valid as the C API requires.
            unsafe { calls::modify(handle, settings, error) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $query(
            handle: Handle,
            query: WideText,
            properties: TextOut,
            error: TextOut,
        ) -> Code {
            // SAFETY: the pointers are valid as the C API requires.
            unsafe { calls::query(handle, query, properties, error) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $delete(id: *const GUID, error: TextOut) -> Code {
            // SAFETY: the pointers are valid as the C API requires.
            unsafe { calls::delete(Object::$object, id, error) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $close(handle: Handle) -> Code {
            // SAFETY: the handle came from this DLL and is not closed yet.
            unsafe { calls::close(handle) }
        }
    };
    ($object:ident: $create:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn $create(
            id: *const GUID,
            settings: WideText,
            handle: *mut Handle,
            error: TextOut,
        ) -> Code {
            let none = ptr::null_mut();
            // SAFETY: the pointers are valid as the C API requires.
            unsafe { calls::create(Object::$object, none, id, settings, handle, error) }
        }
    };
}

exports!(Network: HcnEnumerateNetworks HcnOpenNetwork HcnModifyNetwork
    HcnQueryNetworkProperties HcnDeleteNetwork HcnCloseNetwork);
exports!(Network: HcnCreateNetwork);

exports!(Endpoint: HcnEnumerateEndpoints HcnOpenEndpoint HcnModifyEndpoint
    HcnQueryEndpointProperties HcnDeleteEndpoint HcnCloseEndpoint);

exports!(Namespace: HcnEnumerateNamespaces HcnOpenNamespace HcnModifyNamespace
    HcnQueryNamespaceProperties HcnDeleteNamespace HcnCloseNamespace);
exports!(Namespace: HcnCreateNamespace);

exports!(LoadBalancer: HcnEnumerateLoadBalancers HcnOpenLoadBalancer HcnModifyLoadBalancer
    HcnQueryLoadBalancerProperties HcnDeleteLoadBalancer HcnCloseLoadBalancer);
exports!(LoadBalancer: HcnCreateLoadBalancer);

exports!(SdnRoute: HcnEnumerateSdnRoutes HcnOpenSdnRoute HcnModifySdnRoute
    HcnQuerySdnRouteProperties HcnDeleteSdnRoute HcnCloseSdnRoute);
exports!(SdnRoute: HcnCreateSdnRoute);

/// The only create function that takes a network before the id.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn HcnCreateEndpoint(
    network: Handle,
    id: *const GUID,
    settings: WideText,
    handle: *mut Handle,
    error: TextOut,
) -> Code {
    // SAFETY: the pointers are valid as the C API requires.
    unsafe { calls::create(Object::Endpoint, network, id, settings, handle, error) }
}

/// The whole v1 API.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn HNSCall(
    method: WideText,
    path: WideText,
    request: WideText,
    response: TextOut,
) -> Code {
    // SAFETY: the pointers are valid as the C API requires.
    unsafe { calls::hns(method, path, request, response) }
}
