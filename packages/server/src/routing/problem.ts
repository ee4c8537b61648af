// What a schema finds wrong, in words for people: where, and what was expected there. Never what was found, which may be anything and of any length.

import type * as z from 'zod'
import { shorten } from '../errors/shorten.ts'

type Issue = z.core.$ZodIssue

/** The longest name of a field that is told. */
const LONGEST_KEY = 64

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
}

/** What is wrong with something, as one sentence. */
export function problemOf(what: string, issues: readonly Issue[]): string {
  const issue = issues.map(telling).reduce((best, other) => (isDeeper(other, best) ? other : best))
  const { path } = issue
  const place = [what, ...path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys')
    return `${place}.${shorten(issue.keys[0] ?? '', LONGEST_KEY)}: there is no such field`
  return `${place}: ${expected(issue)}`
}

/** Of a union, what is wrong with the kind that fits best: the one that went furthest. */
function telling(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue
  const kinds = issue.errors.flatMap(kind => kind.slice(0, 1).map(telling))
  const [first, ...others] = kinds
  if (first === undefined) return issue
  const best = others.reduce((one, other) => (isDeeper(other, one) ? other : one), first)
  // Where none went any further than the others, all of them are told.
  if (best.path.length === 0 && best.code === 'invalid_type') return issue
  return { ...best, path: [...issue.path, ...best.path] }
}

/** Whether one got further than another; what is no field at all got past the type. */
const isDeeper = (a: Issue, b: Issue): boolean => depthOf(a) > depthOf(b)
const depthOf = ({ path, code }: Issue): number => path.length + (code === 'invalid_type' ? 0 : 0.5)

function expected(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${typeOf(issue.expected)}`
    case 'invalid_value':
      return `expected ${listed(issue.values.map(String))}`
    case 'too_big':
      return `expected at most ${issue.maximum}${unit(issue.origin)}`
    case 'too_small':
      return `expected at least ${issue.minimum}${unit(issue.origin)}`
    case 'invalid_union':
      return `expected ${listed(kindsOf(issue))}`
    case 'custom':
      return issue.message
    default:
      return 'expected something else'
  }
}

function kindsOf(issue: Extract<Issue, { code: 'invalid_union' }>): readonly string[] {
  if ('options' in issue && Array.isArray(issue.options)) return issue.options.map(String)
  const types = issue.errors.flatMap(([first]) => (first?.code === 'invalid_type' ? [typeOf(first.expected)] : []))
  return types.length > 0 ? types : ['something else']
}

const typeOf = (type: string): string => TYPES[type] ?? type
const unit = (origin: string): string => (origin === 'string' ? ' characters' : origin === 'array' ? ' elements' : '')

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
