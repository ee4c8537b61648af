import { createContext, useContext } from 'react'

/** Navigates to an address of this page. */
export type Go = (address: string) => void

const Context = createContext<Go>(address => location.assign(address))

export const GoProvider = Context.Provider

/** Navigates within this page. */
export const useGo = (): Go => useContext(Context)
