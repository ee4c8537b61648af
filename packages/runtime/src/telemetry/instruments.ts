import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api'
import type { Guard } from './guard.ts'
import { counter, histogram, SCHEMA_URL, SCOPE } from './semantic-conventions.ts'

interface MeterInstruments {
  readonly provider: MeterProvider
  /** Undefined if the provider is a no-op. */
  readonly histograms: ReadonlyMap<string, Histogram> | undefined
  readonly counters: ReadonlyMap<string, Counter> | undefined
}

/** The metrics. Without a registered provider nothing is recorded, at no cost. */
export class Instruments {
  readonly #guard: Guard
  readonly #provider: MeterProvider | undefined
  #instruments: MeterInstruments | undefined

  constructor(guard: Guard, provider: MeterProvider | undefined) {
    this.#guard = guard
    this.#provider = provider
  }

  /** Whether a provider records metrics. The global one may be registered at any time. */
  get isActive(): boolean {
    const provider = this.#provider ?? metrics.getMeterProvider()
    if (this.#instruments?.provider !== provider) this.#instruments = this.#create(provider)
    return this.#instruments.histograms !== undefined
  }

  record(metric: keyof typeof histogram, value: number, attributes: Attributes): void {
    if (!this.isActive) return
    this.#guard.attempt('record', () => this.#instruments?.histograms?.get(metric)?.record(value, attributes))
  }

  count(metric: keyof typeof counter, attributes: Attributes): void {
    if (!this.isActive) return
    this.#guard.attempt('add', () => this.#instruments?.counters?.get(metric)?.add(1, attributes))
  }

  #create(provider: MeterProvider): MeterInstruments {
    const meter = this.#guard.attempt('getMeter', () => provider.getMeter(SCOPE, undefined, { schemaUrl: SCHEMA_URL }))
    if (!meter || meter === createNoopMeter()) return { provider, histograms: undefined, counters: undefined }
    const histograms = new Map<string, Histogram>()
    const counters = new Map<string, Counter>()
    for (const [metric, [name, unit, buckets, description]] of Object.entries(histogram)) {
      const options = { unit, description, advice: { explicitBucketBoundaries: [...buckets] } }
      const instrument = this.#guard.attempt('createHistogram', () => meter.createHistogram(name, options))
      if (instrument) histograms.set(metric, instrument)
    }
    for (const [metric, [name, unit, description]] of Object.entries(counter)) {
      const instrument = this.#guard.attempt('createCounter', () => meter.createCounter(name, { unit, description }))
      if (instrument) counters.set(metric, instrument)
    }
    return { provider, histograms, counters }
  }
}
