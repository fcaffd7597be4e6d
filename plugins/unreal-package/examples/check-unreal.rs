//! Compares what the reader finds in a folder of packages with a file of facts.
use unreal_package::*;
fn main() { let mut t=std::collections::BTreeMap::new(); for a in std::env::args().skip(1) { walk(std::path::Path::new(&a),&mut t); } for (k,v) in t {println!("{k}: {v:?}");} }
fn und(h:&Header,ps:&[Property],pre:String){ for p in ps { one(h,&p.value,format!("{pre}.{}", match &p.name{Label::Name(n)=>h.name(*n),Label::Text(t)=>t.clone()})); } }
fn one(h:&Header,v:&Value,pre:String){ match v { Value::Undecoded{bytes}=>println!("  UND {pre} {bytes}"), Value::Struct(s)=>und(h,&s.fields,pre), Value::List(l)=>for x in l {one(h,x,pre.clone())}, _=>{} } }
fn walk(p:&std::path::Path,t:&mut std::collections::BTreeMap<String,[usize;6]>){ if p.is_dir(){ for e in std::fs::read_dir(p).unwrap(){ walk(&e.unwrap().path(),t); } return; }
 let n=p.to_string_lossy(); if !(n.ends_with(".uasset")||n.ends_with(".umap")){return;}
 let b=std::fs::read(p).unwrap(); let pk=Package::read(&b).unwrap(); let h=&pk.header;
 let e=t.entry(format!("{}.{} {} {}",h.summary.engine.major,h.summary.engine.minor,h.summary.versions.ue4,h.summary.versions.ue5)).or_default();
 for i in 0..h.exports.len(){ let ix=Index(i as i32+1); let o=pk.object(ix); e[0]+=1; e[1]+=o.properties.len(); e[2]+=o.undecoded;
   if h.is_node(ix){ e[3]+=1; if !o.warnings.is_empty(){e[4]+=1; } e[5]+=o.pins.len(); }
   if o.undecoded>0||!o.warnings.is_empty(){ println!("{n} {} {} und={} {:?}",h.path_within(ix),h.class_name(ix),o.undecoded,o.warnings); und(h,&o.properties,String::new()); }
   if h.is_node(ix) && o.native.is_some(){ println!("   TAIL {n} {} {:?}",h.class_name(ix),o.native); }
 } }
