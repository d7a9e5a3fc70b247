/** A sleep that can be ended from outside, also before it has begun: what wakes is never missed. */
export class Alarm {
  #rung = false;
  #wake: (() => void) | undefined;

  /** Ends the sleep, or the next one. */
  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Sleeps for so many milliseconds, or until it rings. */
  async sleep(milliseconds: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#rung = false;
  }
}
