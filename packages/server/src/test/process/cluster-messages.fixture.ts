// Messages between a test and the processes of its cluster.

/** Tells a process its role and its store. */
export type ClusterOrder =
  | { readonly do: 'serve'; readonly store: string; readonly port: number }
  | { readonly do: 'work'; readonly store: string; readonly leaseMs: number }

/** Reports of a process to the test. */
export type ClusterEvent =
  | { readonly kind: 'ready'; readonly port?: number }
  | { readonly kind: 'logged'; readonly message: string }
