// For the other packages of Millrace only. These names may change in any release.

export { DEFAULT_STORE } from './app/options.ts'
export { AUTHORIZE_MISSING } from './app/request-handler.ts'
export { DEFAULT_PORT } from './http/listen.ts'
export { PAGE_POLICY } from './http/static.ts'
