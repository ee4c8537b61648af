// What a request line and its headers may not hold, because whoever stands in front of this server may read it otherwise than this server does.

import { Refusal } from '../errors/refusal.ts'

/** Throws where the target of a request is no plain path, or its host is not told once. */
export function mustBePlain(target: string, hosts: readonly string[]): void {
  if (!target.startsWith('/')) throw new Refusal('request_invalid', 'target: expected a path')
  const [path = ''] = target.split('?', 1)
  // A URL would quietly go up for these, or forget what follows.
  if (/[\\#]|\/(\.|%2e){1,2}(\/|$)/i.test(path)) {
    throw new Refusal('request_invalid', 'path: expected no way up, no backslash and no fragment')
  }
  if (hosts.length > 1) throw new Refusal('request_invalid', 'host: expected one')
}
