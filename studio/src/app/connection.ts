import { createConnection } from '@millrace/client'

/** Id of this tab for the server, kept while the tab is open. Injected faults apply to one tab. */
export const tab: string = sessionStorage.getItem('tab') ?? crypto.randomUUID().replaceAll('-', '')
sessionStorage.setItem('tab', tab)

/** Headers of every request of this tab. */
export const headers = { 'x-studio-tab': tab }

/** The only connection of this tab. It sends each entry on its own, so the inspector shows entries as they arrived. */
export const connection = createConnection({ headers, includeDiscarded: true })
