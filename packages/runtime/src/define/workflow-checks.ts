// What the parts of a definition must be, each by itself: told where the workflow is defined. The compiler sees less: of nodes it infers what is there, and a field
// that nobody reads is no mistake to it.

import type { Json } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { checkKeys, describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { toJson } from '../schema/json.ts'

/** Throws where something is no node: `place` names the workflow and the node. */
export function checkNode(place: string, definition: unknown): void {
  if (typeof definition === 'function' || isAgent(definition)) return
  if (!isObject(definition)) {
    fail(place, `expected a function, an agent, or an object with run or agent, found ${describeType(definition)}`)
  }
  const { kind, run, agent, prompt, title, retry, onError } = definition
  if (kind === 'workflow') {
    fail(place, 'a workflow is no node: return its id as transitionTo, or make it a tool of an agent')
  }
  if (run !== undefined && agent !== undefined) fail(place, 'expected run or agent, found both')
  if (agent === undefined) {
    checkKeys(place, definition, ['run', 'params', 'title', 'retry', 'onError'])
    must(typeof run === 'function', `${place}: run`, 'a function', run)
  } else {
    checkKeys(place, definition, ['agent', 'prompt', 'title', 'retry', 'onError'])
    must(isAgent(agent), `${place}: agent`, 'what agent() gives', agent)
    must(prompt === undefined || typeof prompt === 'function', `${place}: prompt`, 'a function', prompt)
  }
  must(title === undefined || isText(title), `${place}: title`, 'a text', title)
  if (retry !== undefined) checkRetry(`${place}: retry`, retry)
  if (onError !== undefined) checkPolicy(`${place}: onError`, onError)
}

function checkRetry(place: string, retry: unknown): void {
  if (!isObject(retry)) fail(place, `expected an object with attempts, found ${describeType(retry)}`)
  checkKeys(place, retry, ['attempts', 'backoff', 'when'])
  const { attempts, backoff, when } = retry
  checkWhole(`${place}.attempts`, attempts)
  must(when === undefined || typeof when === 'function', `${place}.when`, 'a function', when)
  if (backoff === undefined) return
  if (!isObject(backoff))
    fail(`${place}.backoff`, `expected an object with first and longest, found ${describeType(backoff)}`)
  checkKeys(`${place}.backoff`, backoff, ['first', 'longest'])
  for (const [what, ms] of Object.entries(backoff)) {
    must(typeof ms === 'number' && ms >= 0 && ms < Infinity, `${place}.backoff.${what}`, 'milliseconds from 0 on', ms)
  }
}

function checkPolicy(place: string, policy: unknown): void {
  if (policy === 'stop') return
  const expected = "expected 'stop', { continue: data } or { route: 'node' }"
  if (!isObject(policy)) fail(place, `${expected}, found ${shown(policy)}`)
  checkKeys(place, policy, ['continue', 'route'])
  if ('continue' in policy === 'route' in policy)
    fail(place, `${expected}, found ${'route' in policy ? 'both' : 'neither'}`)
  if ('route' in policy) must(typeof policy['route'] === 'string', `${place}.route`, "a node's id", policy['route'])
  else jsonOf(`${place}.continue`, policy['continue'])
}

/** A value as JSON has it; throws where it is none. */
export function jsonOf(place: string, value: unknown): Json {
  return toJson(value, cause => {
    const found = cause === undefined ? `, found ${describeType(value)}` : ''
    return new ValidationError(`${place}: expected what JSON can say${found}`, { cause })
  })
}

/** Throws where something is no edge: `place` names the workflow and the edge. */
export function checkEdge(place: string, definition: unknown): void {
  if (!Array.isArray(definition) || definition.length < 2 || definition.length > 3) {
    fail(place, `expected [from, to] or [from, to, options], found ${describeType(definition)}`)
  }
  const [from, to, options] = definition as readonly unknown[]
  must(typeof from === 'string', `${place}: from`, "a node's id or 'start'", from)
  const isFork = Array.isArray(to)
  if (!isFork) must(typeof to === 'string', `${place}: to`, "a node's id, a list of them, or 'end'", to)
  else checkBranches(place, to, options)
  if (options === undefined) return
  if (!isObject(options)) fail(place, `expected options that are an object, found ${describeType(options)}`)
  const { when, otherwise, max, join } = options
  if (join !== undefined && !isFork)
    fail(place, `join: only a fork has one: list its branches, as in ['a', ['b', 'c'], { join: 'd' }]`)
  if (max !== undefined && isFork) fail(place, 'max: a fork has none: say it of the edge that leads to the fork')
  checkKeys(place, options, isFork ? ['when', 'otherwise', 'join'] : ['when', 'otherwise', 'max'])
  must(when === undefined || isText(when), `${place}: when`, 'a condition', when)
  must(otherwise === undefined || otherwise === true, `${place}: otherwise`, 'true, or nothing', otherwise)
  must(join === undefined || typeof join === 'string', `${place}: join`, "a node's id", join)
  if (when !== undefined && otherwise)
    fail(place, 'found when beside otherwise: an edge is for one condition, or for what no other fits')
  if (max !== undefined) checkWhole(`${place}: max`, max)
}

function checkBranches(place: string, heads: readonly unknown[], options: unknown): void {
  for (const head of heads) must(typeof head === 'string', `${place}: to`, "nodes' ids", head)
  if (heads.length < 2) fail(place, 'a fork has two branches or more: write one as an edge to the node itself')
  if (new Set(heads).size < heads.length) fail(place, 'a fork names each of its branches once')
  if (isObject(options) && options['join'] !== undefined) return
  fail(place, "a fork says where its branches meet again: add { join: 'node' }")
}

/** Throws a `ValidationError` that names the place. */
export function fail(place: string, what: string): never {
  throw new ValidationError(`${place}: ${what}`)
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

const isAgent = (value: unknown): boolean => isObject(value) && value['kind'] === 'agent'

function checkWhole(place: string, value: unknown): void {
  must(Number.isSafeInteger(value) && (value as number) >= 1, place, 'a whole number from 1 on', value)
}

function must(isFine: boolean, place: string, expected: string, found: unknown): void {
  if (!isFine) fail(place, `expected ${expected}, found ${shown(found)}`)
}

/** What stands where something else should: texts and numbers as they are, of anything else what it is. */
const shown = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : describeType(value)
}
