// Checks the API keys of model providers, and with `--online` whether they are accepted. Keys are never printed.

import { errorMessages, type Finding, fail, note, ok } from './finding.ts'

interface Provider {
  readonly name: string
  /** The name of the environment variable with the API key. */
  readonly keyVariable: string
  /** The name of the environment variable with the base URL. */
  readonly urlVariable: string
  readonly defaultUrl: string
  headers(key: string): Record<string, string>
}

const providers: readonly Provider[] = [
  {
    name: 'OpenAI',
    keyVariable: 'OPENAI_API_KEY',
    urlVariable: 'OPENAI_BASE_URL',
    defaultUrl: 'https://api.openai.com/v1',
    headers: key => ({ authorization: `Bearer ${key}` }),
  },
  {
    name: 'Anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    urlVariable: 'ANTHROPIC_BASE_URL',
    defaultUrl: 'https://api.anthropic.com/v1',
    headers: key => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
  },
]

const TIMEOUT_MS = 10_000

/** Checks which providers have keys. With `isOnline`, tries each key. */
export async function checkProviders(env: NodeJS.ProcessEnv, isOnline: boolean): Promise<readonly Finding[]> {
  const configured = providers.filter(({ keyVariable }) => env[keyVariable])
  if (configured.length === 0) {
    const names = providers.map(({ keyVariable }) => keyVariable).join(' or ')
    return [note('models', 'no API key of a provider is set', `to use a real model, set ${names}`)]
  }
  if (isOnline) return Promise.all(configured.map(provider => checkProvider(provider, env)))
  return configured.map(({ keyVariable }) => ok('models', `${keyVariable} is set (check it with --online)`))
}

async function checkProvider(
  { name, keyVariable, urlVariable, defaultUrl, headers }: Provider,
  env: NodeJS.ProcessEnv,
): Promise<Finding> {
  const url = `${(env[urlVariable] || defaultUrl).replace(/\/+$/, '')}/models`
  try {
    const reply = await fetch(url, {
      headers: headers(env[keyVariable] ?? ''),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await reply.body?.cancel()
    if (reply.ok) return ok('models', `${name} accepts ${keyVariable}`)
    const isRefused = reply.status === 401 || reply.status === 403
    const next = isRefused ? `set ${keyVariable} to a valid key` : `try again later, or check ${urlVariable}`
    return fail('models', `${name} answered with status ${reply.status}`, next)
  } catch (error) {
    return fail(
      'models',
      `${name} is unreachable: ${errorMessages(error)}`,
      `check the network, the proxy and ${urlVariable}`,
    )
  }
}
