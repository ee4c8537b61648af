const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i

/** Whether a `Host` header has a loopback name or address, with or without a port. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host)

/** Whether an IP address is a loopback address. */
export const isLoopbackAddress = (address: string): boolean => /^(::1|(::ffff:)?127(\.\d{1,3}){3})$/i.test(address)
