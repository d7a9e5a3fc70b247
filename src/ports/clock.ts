/** Where the time comes from. */
export interface Clock {
  /** Now, in milliseconds since 1970. */
  now(): number;
}
