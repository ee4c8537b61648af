const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i

/** Whether a host is this machine, as it calls itself. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

/** Whether a socket leads to this machine. */
export const isLoopbackAddress = (address: string): boolean => /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/i.test(address)
