// Validates nodes and edges of a workflow definition one by one. The compiler does not report unknown fields of nodes,
// because it infers their types.

import type { Json } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { checkKeys, describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { toJson } from '../schema/json.ts'

/**
 * `path` names the workflow and the node in error messages.
 * @throws {ValidationError} if the node is not valid.
 */
export function checkNode(path: string, definition: unknown): void {
  if (typeof definition === 'function' || isAgent(definition)) return
  if (!isObject(definition)) {
    fail(path, `expected a function, an agent, or an object with run or agent, found ${describeType(definition)}`)
  }
  const { kind, run, agent, prompt, title, retry, onError } = definition
  if (kind === 'workflow') {
    fail(path, 'a workflow cannot be a node: return its id as transitionTo, or make it a sub-agent of an agent')
  }
  if (run !== undefined && agent !== undefined) fail(path, 'expected run or agent, found both')
  if (agent === undefined) {
    checkKeys(path, definition, ['run', 'params', 'title', 'retry', 'onError'])
    check(typeof run === 'function', `${path}: run`, 'a function', run)
  } else {
    checkKeys(path, definition, ['agent', 'prompt', 'title', 'retry', 'onError'])
    check(isAgent(agent), `${path}: agent`, 'the result of agent()', agent)
    check(prompt === undefined || typeof prompt === 'function', `${path}: prompt`, 'a function', prompt)
  }
  check(title === undefined || isText(title), `${path}: title`, 'a text', title)
  if (retry !== undefined) checkRetry(`${path}: retry`, retry)
  if (onError !== undefined) checkPolicy(`${path}: onError`, onError)
}

function checkRetry(path: string, retry: unknown): void {
  if (!isObject(retry)) fail(path, `expected an object with attempts, found ${describeType(retry)}`)
  checkKeys(path, retry, ['attempts', 'backoff', 'when'])
  const { attempts, backoff, when } = retry
  checkPositiveInteger(`${path}.attempts`, attempts)
  check(when === undefined || typeof when === 'function', `${path}.when`, 'a function', when)
  if (backoff === undefined) return
  if (!isObject(backoff))
    fail(`${path}.backoff`, `expected an object with firstMs and longestMs, found ${describeType(backoff)}`)
  checkKeys(`${path}.backoff`, backoff, ['firstMs', 'longestMs'])
  for (const [field, ms] of Object.entries(backoff)) {
    check(
      typeof ms === 'number' && ms >= 0 && ms < Infinity,
      `${path}.backoff.${field}`,
      'milliseconds of at least 0',
      ms,
    )
  }
}

function checkPolicy(path: string, policy: unknown): void {
  if (policy === 'stop') return
  const expected = "expected 'stop', { continue: data } or { route: 'node' }"
  if (!isObject(policy)) fail(path, `${expected}, found ${describeValue(policy)}`)
  checkKeys(path, policy, ['continue', 'route'])
  if ('continue' in policy === 'route' in policy)
    fail(path, `${expected}, found ${'route' in policy ? 'both' : 'neither'}`)
  if ('route' in policy) check(typeof policy['route'] === 'string', `${path}.route`, "a node's id", policy['route'])
  else jsonOption(`${path}.continue`, policy['continue'])
}

/** Converts an option to JSON. @throws {ValidationError} if it is not JSON. */
export function jsonOption(path: string, value: unknown): Json {
  return toJson(value, cause => {
    const found = cause === undefined ? `, found ${describeType(value)}` : ''
    return new ValidationError(`${path}: expected a JSON value${found}`, { cause })
  })
}

/**
 * `path` names the workflow and the edge in error messages.
 * @throws {ValidationError} if the edge is not valid.
 */
export function checkEdge(path: string, definition: unknown): void {
  if (!Array.isArray(definition) || definition.length < 2 || definition.length > 3) {
    fail(path, `expected [from, to] or [from, to, options], found ${describeType(definition)}`)
  }
  const [from, to, options] = definition as readonly unknown[]
  check(typeof from === 'string', `${path}: from`, "a node's id or 'start'", from)
  const isFork = Array.isArray(to)
  if (!isFork) check(typeof to === 'string', `${path}: to`, "a node's id, a list of them, or 'end'", to)
  else checkBranches(path, to, options)
  if (options === undefined) return
  if (!isObject(options)) fail(path, `options: expected an object, found ${describeType(options)}`)
  const { when, otherwise, max, join } = options
  if (join !== undefined && !isFork)
    fail(path, `join: only a fork has a join: list its branches, as in ['a', ['b', 'c'], { join: 'd' }]`)
  if (max !== undefined && isFork) fail(path, 'max: not allowed for a fork: set it on the edge that leads to the fork')
  checkKeys(path, options, isFork ? ['when', 'otherwise', 'join'] : ['when', 'otherwise', 'max'])
  check(when === undefined || isText(when), `${path}: when`, 'a condition', when)
  check(otherwise === undefined || otherwise === true, `${path}: otherwise`, 'true or undefined', otherwise)
  check(join === undefined || typeof join === 'string', `${path}: join`, "a node's id", join)
  if (when !== undefined && otherwise) fail(path, 'expected when or otherwise, found both')
  if (max !== undefined) checkPositiveInteger(`${path}: max`, max)
}

function checkBranches(path: string, heads: readonly unknown[], options: unknown): void {
  for (const head of heads) check(typeof head === 'string', `${path}: to`, "nodes' ids", head)
  if (heads.length < 2) fail(path, 'a fork needs at least two branches: use a plain edge for one')
  if (new Set(heads).size < heads.length) fail(path, 'a fork lists each branch once: remove the repeated one')
  if (isObject(options) && options['join'] !== undefined) return
  fail(path, "a fork needs a join: add { join: 'node' }")
}

/** @throws {ValidationError} always, with the path in its message. */
export function fail(path: string, problem: string): never {
  throw new ValidationError(`${path}: ${problem}`)
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== ''

const isAgent = (value: unknown): boolean => isObject(value) && value['kind'] === 'agent'

function checkPositiveInteger(path: string, value: unknown): void {
  check(Number.isSafeInteger(value) && (value as number) >= 1, path, 'a whole number of at least 1', value)
}

function check(isValid: boolean, path: string, expected: string, found: unknown): void {
  if (!isValid) fail(path, `expected ${expected}, found ${describeValue(found)}`)
}

/** A found value for an error message: primitives as they are, others by type. */
const describeValue = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : describeType(value)
}
