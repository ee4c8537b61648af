import { createConnection } from '@millrace/client'

/** By what the server knows this tab, as long as it is open: faults are for one tab alone. */
export const tab: string = sessionStorage.getItem('tab') ?? crypto.randomUUID().replaceAll('-', '')
sessionStorage.setItem('tab', tab)

/** What goes along with each request of this tab. */
export const headers = { 'x-studio-tab': tab }

/** The one connection of this tab: it carries each entry by itself, so that what is inspected is what came. */
export const connection = createConnection({ headers, whole: true })
