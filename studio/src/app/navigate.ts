import { createContext, useContext } from 'react'

/** Navigates to an address of this page. */
export type Navigate = (address: string) => void

const Context = createContext<Navigate>(address => location.assign(address))

export const NavigateProvider = Context.Provider

/** Navigates within this page. */
export const useNavigate = (): Navigate => useContext(Context)
