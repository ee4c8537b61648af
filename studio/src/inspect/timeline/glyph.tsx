import type { MarkerKind } from './row.ts'

/** SVG paths of the markers, centered, at most 10 px wide. */
const PATHS: { readonly [S in MarkerKind]: string } = {
  commit: 'M0 -2.6L2.6 0L0 2.6L-2.6 0Z',
  prompt: 'M-4.5 -4h9v6h-4.5l-2.5 2.5v-2.5h-2z',
  answer: 'M-4 0.2L-1.2 3L4 -3',
  pause: 'M-3.2 -4h2.2v8h-2.2zM1 -4h2.2v8H1z',
  stop: 'M-3.5 -3.5h7v7h-7z',
  discard: 'M-3.2 -3.2L3.2 3.2M3.2 -3.2L-3.2 3.2',
  error: 'M0 -5L5 4H-5ZM0 -1.8V1M0 2.2V2.9',
  takeover: 'M1.2 -6L-4 1H-0.4L-1.6 6L4 -1H0.4Z',
  rewind: 'M0.2 -4L-4 0L0.2 4M4.2 -4L0 0L4.2 4',
}

/** Label of each marker. */
export const MARKER_LABELS: { readonly [S in MarkerKind]: string } = {
  commit: 'Commit',
  prompt: 'User message',
  answer: 'Answer',
  pause: 'Paused',
  stop: 'Stop requested',
  discard: 'Draft discarded',
  error: 'Error',
  takeover: 'Taken over by another worker',
  rewind: 'Rewind',
}

/** A marker of the timeline. */
export const Glyph = ({ marker }: { readonly marker: MarkerKind }) => (
  <path className={`marker ${marker}`} d={PATHS[marker]} />
)
