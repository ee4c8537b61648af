import type { DevEvent } from './supervisor.ts'

/** An event of a dev host as one line of text. */
export function eventText(event: DevEvent): string {
  switch (event.event) {
    case 'up': {
      const studio = event.studio === event.url ? '' : `\nThe studio is at ${event.studio}`
      return `Millrace is running at ${event.url}${studio}`
    }
    case 'alone':
      return 'The store is in memory: server and worker run in one process.'
    case 'loading':
      return `${event.file} is still loading. Check for a top-level await that never resolves.`
    case 'reloading':
      return `${event.changed} changed. Restarting.`
    case 'back':
      return 'The server is running again.'
    case 'broken':
      return `${event.message}\nWaiting for changes.`
    case 'failed':
      return `The ${event.process} cannot start: ${event.message} ${againOf(event.againMs)}`
    case 'ended': {
      const how = typeof event.how === 'number' ? `with code ${event.how}` : `by ${event.how}`
      return `The ${event.process} exited ${how}. ${againOf(event.againMs)}`
    }
  }
}

const againOf = (ms: number): string => (ms === 0 ? 'Restarting.' : `Restarting in ${(ms / 1000).toFixed(1)} s.`)
