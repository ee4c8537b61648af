import type { ClientTools } from '@millrace/client'

/** Client tools that the browser executes without asking, in one tab at a time. Tools that ask the user are in `pending/`. */
export const tools: ClientTools = {
  local_time: () => {
    const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions()
    const time = new Date().toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' })
    return { time, timeZone }
  },
}
