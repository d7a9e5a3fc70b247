/** Two routed workflows, and a file outside its folder that one of them includes. */
export const GARDENS: Readonly<Record<string, string>> = {
  "GARDEN/index.md": "# Goal\n\nPeas.\n\n# Steps\n\n- [Dig](steps/dig.md)\n- [Sow](steps/sow.md)\n",
  "GARDEN/steps/dig.md": "# Orchestrator Guidance\n\nThen Sow.\n\n# Client Instructions\n\nDig a bed.\n",
  "GARDEN/steps/sow.md": "# Orchestrator Guidance\n\nThen FINISH.\n\n# Client Instructions\n\nSow peas.\n",
  "SHARED/index.md": "# Goal\n\nClean hands.\n\n- [Wash](steps/wash.md)\n",
  "SHARED/steps/wash.md":
    "# Orchestrator Guidance\n\nThen FINISH.\n\n# Client Instructions\n\n{{file:../../shared/wash.md}}\n",
  "shared/wash.md": "Wash your hands.\n",
};
