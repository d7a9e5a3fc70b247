const KINDS = ["feat", "fix", "docs", "test", "chore"];

/** @type {Record<string, import("phasegate/verify").Verifier>} */
export const verifiers = {
  commit_subject: {
    async verify({ value }) {
      const [, kind] = typeof value === "string" ? (/^([a-z]+): \S.{0,60}$/.exec(value) ?? []) : [];
      const ok = kind !== undefined && KINDS.includes(kind);
      return {
        ok,
        message: ok ? `${kind} is a kind of change` : `begin the subject with ${KINDS.join(", ")} and a colon`,
      };
    },
  },
};
