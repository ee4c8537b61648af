import type { ClientTools } from '@millrace/client'

/** What agents may have this browser do by itself, in one tab at a time. What a person has to do is asked in `pending/`. */
export const tools: ClientTools = {
  local_time: () => {
    const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions()
    const time = new Date().toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' })
    return { time, timeZone }
  },
}
