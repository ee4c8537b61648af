// For the other packages of Millrace only. These names may change in any release.

export { DEFAULT_STORE } from './app/options.ts'
export { AUTHORIZE_MISSING } from './app/request-handler.ts'
export { isOwnSite } from './auth/loopback.ts'
export { DEFAULT_PORT } from './http/listen.ts'
export { isLoopback, isLoopbackAddress } from './http/loopback-host.ts'
export { PAGE_POLICY } from './http/static.ts'
