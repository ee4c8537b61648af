// Checks the API keys of model providers, and with `--online` whether they are accepted. Keys are never printed.

import { errorMessages, type Finding, fail, note, ok } from './finding.ts'

interface Provider {
  readonly name: string
  readonly key: string
  readonly base: string
  readonly defaultBase: string
  headers(key: string): Record<string, string>
}

const providers: readonly Provider[] = [
  {
    name: 'OpenAI',
    key: 'OPENAI_API_KEY',
    base: 'OPENAI_BASE_URL',
    defaultBase: 'https://api.openai.com/v1',
    headers: key => ({ authorization: `Bearer ${key}` }),
  },
  {
    name: 'Anthropic',
    key: 'ANTHROPIC_API_KEY',
    base: 'ANTHROPIC_BASE_URL',
    defaultBase: 'https://api.anthropic.com/v1',
    headers: key => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  },
]

const TIMEOUT_MS = 10_000

/** Checks which providers have keys. With `isOnline`, tries each key. */
export async function checkProviders(env: NodeJS.ProcessEnv, isOnline: boolean): Promise<readonly Finding[]> {
  const configured = providers.filter(({ key }) => env[key])
  if (configured.length === 0) {
    const names = providers.map(({ key }) => key).join(' or ')
    return [note('models', 'no API key of a provider is set', `to use a real model, set ${names}`)]
  }
  if (isOnline) return Promise.all(configured.map(provider => checkProvider(provider, env)))
  return configured.map(({ key }) => ok('models', `${key} is set (check it with --online)`))
}

async function checkProvider(
  { name, key, base, defaultBase, headers }: Provider,
  env: NodeJS.ProcessEnv,
): Promise<Finding> {
  const url = `${(env[base] || defaultBase).replace(/\/+$/, '')}/models`
  try {
    const reply = await fetch(url, { headers: headers(env[key] ?? ''), signal: AbortSignal.timeout(TIMEOUT_MS) })
    await reply.body?.cancel()
    if (reply.ok) return ok('models', `${name} accepts ${key}`)
    const isRefused = reply.status === 401 || reply.status === 403
    const next = isRefused ? `set ${key} to a valid key` : `try again later, or check ${base}`
    return fail('models', `${name} answered with status ${reply.status}`, next)
  } catch (error) {
    return fail('models', `${name} is unreachable: ${errorMessages(error)}`, `check the network, the proxy and ${base}`)
  }
}
