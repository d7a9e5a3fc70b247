const t=(n,f)=>{const s=performance.now(); f(); console.log(n, Math.round(performance.now()-s))};
for (const n of [2e4, 4e4,8e4]) { const a="a".repeat(n), b="b"+"a".repeat(n/2);
t("includes "+n, ()=>a.includes(b)); t("indexOf", ()=>a.indexOf(b)); t("split", ()=>a.split(b)); }
