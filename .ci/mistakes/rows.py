# Writes files of rows with a mistake each, and good.csv without one, into bad.
import random, gzip, os
random.seed(3)
d='bad'; os.makedirs(d,exist_ok=True)
N=2000
rows=[]
cities=['Paris','Rome','Oslo','Bern','Wien']
for i in range(N):
    age=random.randint(18,80); amount=round(random.lognormvariate(6,.8),2); c=random.choice(cities)
    z=(age-45)/12+(amount-500)/600+{'Paris':1,'Rome':-1}.get(c,0)
    y=int(random.random()<1/(1+2.718**-z))
    mon=1+i*11//N; day=random.randint(1,28)
    rows.append(dict(id=100000+i,date=f'2021-{mon:02d}-{day:02d}',age=age,amount=amount,city=c,y=y))
H=['id','date','age','amount','city','y']
def w(name,rs,h=H,sep=',',end='\n',enc='utf-8',header=True,q=lambda v:str(v),tail='',htail='',pre=''):
    with open(f'{d}/{name}.csv','wb') as f:
        s=pre
        if header: s+=sep.join(h)+htail+end
        for r in rs: s+=sep.join(q(r[k]) for k in H)+tail+end
        f.write(s.encode(enc))
def m(fn,only=None):
    out=[]
    for i,r in enumerate(rows):
        r=dict(r)
        if only is None or i in only: fn(r,i)
        out.append(r)
    return out
def setter(k,f): return lambda r,i: r.__setitem__(k,f(r[k],i))
w('good',rows)
w('y12',m(setter('y',lambda v,i:v+1)))
w('ypm',m(setter('y',lambda v,i:2*v-1)))
w('yyes',m(setter('y',lambda v,i:'yes' if v else 'no')))
w('ytrue',m(setter('y',lambda v,i:'True' if v else 'False')))
w('ymissing',m(setter('y',lambda v,i:'' if i%3==0 else v)))
w('ypct',m(setter('y',lambda v,i:v*100)))
w('thousands',m(setter('amount',lambda v,i:f'"{v*10:,.2f}"')))
w('european',m(setter('amount',lambda v,i:f'{v:.2f}'.replace('.',','))),sep=';')
w('europeanq',m(setter('amount',lambda v,i:'"'+f'{v:.2f}'.replace('.',',')+'"')))
w('percent',m(setter('amount',lambda v,i:f'{v/10:.1f}%')))
w('currency',m(setter('amount',lambda v,i:f'${v:.2f}')))
w('euro',m(setter('amount',lambda v,i:f'{v:.2f} €')))
w('paren',m(setter('amount',lambda v,i:f'({v:.2f})' if i%9==0 else v)))
w('newline',m(setter('city',lambda v,i:'"'+v+'\nCentre"' if i%50==7 else v)))
w('trailing',rows,tail=',')
w('trailingboth',rows,tail=',',htail=',')
w('longrow',m(setter('city',lambda v,i:v+',x'),{700}))
w('shortrow',rows[:700]+rows[700:])
open(f'{d}/shortrow.csv','a').write('1,2021-01-01,33\n')
w('duphead',rows,h=['id','date','age','age','city','y'])
w('tabs',rows,sep='\t')
w('nohead',rows,header=False)
w('bom',rows,pre='\ufeff')
w('crlf',rows,end='\r\n')
w('cr',rows,end='\r')
w('latin1',m(setter('city',lambda v,i:'Zürich' if v=='Bern' else v)),enc='latin-1')
w('hugeint',m(setter('age',lambda v,i:'12345678901234567890'),{5}))
w('e400',m(setter('amount',lambda v,i:'1e400'),{5}))
w('e38',m(setter('amount',lambda v,i:'1e39'),{5}))
w('hex',m(setter('age',lambda v,i:hex(v))))
w('hexone',m(setter('age',lambda v,i:hex(v)),{5}))
w('under',m(setter('amount',lambda v,i:'1_000'),{5}))
for name,code in dict(na='NA',na2='N/A',null='null',dash='-',qm='?',none='None',neg='-999',empty='').items():
    w('miss_'+name,m(setter('amount',lambda v,i:code if i%7==0 else v)))
w('sentinel9999',m(setter('amount',lambda v,i:99999999 if i%7==0 else v)))
w('allmissing',m(setter('amount',lambda v,i:'')))
w('constant',m(setter('amount',lambda v,i:7)))
w('leak',m(lambda r,i:r.__setitem__('amount',r['y']*10+.5)))
w('five',rows[:5])
w('one',rows[:1])
w('sorted',sorted(rows,key=lambda r:r['y']))
w('oneclass',m(setter('y',lambda v,i:0)))
w('imbalance',[dict(rows[i%N],y=int(i%10000==77)) for i in range(40000)])
w('summary',rows)
open(f'{d}/summary.csv','a').write(f'Total,,{sum(r["age"] for r in rows)},{sum(r["amount"] for r in rows):.2f},,{sum(r["y"] for r in rows)}\n')
w('mixedcase',m(setter('city',lambda v,i:[v,v.lower(),v.upper(),v+' ',' '+v][i%5])))
w('usdate',m(setter('date',lambda v,i:f'{v[5:7]}/{v[8:]}/{v[:4]}')))
w('eudate',m(setter('date',lambda v,i:f'{v[8:]}.{v[5:7]}.{v[:4]}')))
w('dup10',rows*10)
w('intcat',m(setter('city',lambda v,i:str(cities.index(v))+('.0' if i%2 else ''))))
w('boolnum',m(setter('age',lambda v,i:'TRUE' if v>45 else 'FALSE')))
w('spacehead',rows,h=[' id',' date',' age',' amount',' city',' y'])
w('casehead',rows,h=['ID','Date','Age','Amount','City','Y'])
w('singleq',m(setter('city',lambda v,i:f"'{v}, Nord'")))
w('comment',rows,pre='# exported by SAP 2021\n')
w('sep',rows,pre='sep=,\n')
w('nul',m(setter('city',lambda v,i:v+'\x00'),{5}))
open(f'{d}/empty.csv','w').close()
w('headonly',[])
b=gzip.compress(open(f'{d}/good.csv','rb').read()); open(f'{d}/cut.csv.gz','wb').write(b[:len(b)//2])
import zipfile
zipfile.ZipFile(f'{d}/z.csv.zip','w',zipfile.ZIP_DEFLATED).write(f'{d}/good.csv','good.csv')
import json
json.dump(rows,open(f'{d}/array.json','w'))
json.dump(rows,open(f'{d}/arrayi.json','w'),indent=1)
open(f'{d}/lines.csv','w').write('\n'.join(json.dumps(r) for r in rows)+'\n')
open(f'{d}/x.xlsx','wb').write(b'PK\x03\x04\x14\x00\x06\x00\x08\x00'+os.urandom(3000))
open(f'{d}/html.csv','w').write('<!DOCTYPE html>\n<html><head><title>404</title></head><body>Not found</body></html>\n')
