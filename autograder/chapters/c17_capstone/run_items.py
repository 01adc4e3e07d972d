"""Held-out items of the capstone, written by bench/capstone_items.py: do not edit."""

CHARACTER = (  # question and keyword
    ("Hello there.", "met"),
    ("What name did your mother give you?", "tobin"),
    ("How deep is the stream here?", "fathoms"),
    ("And the depth of the river?", "fathoms"),
    ("What about the depth of the river?", "fathoms"),
    ("What can you tell me about the depth of the river?", "fathoms"),
    ("Do you know anything about the depth of the river?", "fathoms"),
    ("How wide is the water?", "strokes"),
    ("What about the width of the river?", "strokes"),
    ("Say something about the width of the river.", "strokes"),
    ("What have you to say of the width of the river?", "strokes"),
    ("What can you tell me about the width of the river?", "strokes"),
    ("Do you know anything about the width of the river?", "strokes"),
    ("Is this a strong boat?", "elm"),
    ("What have you to say of your boat?", "elm"),
    ("A word about your boat?", "elm"),
    ("What can you tell me about your boat?", "elm"),
    ("Do you know anything about your boat?", "elm"),
    ("What have you to say of the boat?", "elm"),
    ("What can you tell me about the boat?", "elm"),
    ("Do you know anything about the boat?", "elm"),
    ("How much must I pay?", "coin"),
    ("What can you tell me about the fare?", "coin"),
    ("Do you know anything about the fare?", "coin"),
    ("Let us talk about the price.", "coin"),
    ("What can you tell me about the price?", "coin"),
    ("Do you know anything about the price?", "coin"),
    ("Which bank do you mean?", "clay"),
    ("What of the bank?", "clay"),
    ("Let us talk about the bank.", "clay"),
    ("What can you tell me about the bank?", "clay"),
    ("Do you know anything about the bank?", "clay"),
    ("And this bank?", "clay"),
    ("What can you tell me about this bank?", "clay"),
    ("Do you know anything about this bank?", "clay"),
    ("Do you keep your money at home?", "purse"),
    ("Tell me about money.", "purse"),
    ("What can you tell me about money?", "purse"),
    ("Do you know anything about money?", "purse"),
    ("What about your money?", "purse"),
    ("What can you tell me about your money?", "purse"),
    ("Do you know anything about your money?", "purse"),
    ("What fish can you catch?", "trout"),
    ("Speak of the fish.", "trout"),
    ("Say something about the fish.", "trout"),
    ("I would hear about the fish.", "trout"),
    ("What can you tell me about the fish?", "trout"),
    ("Do you know anything about the fish?", "trout"),
    ("What have you to say of fishing?", "trout"),
    ("What can you tell me about fishing?", "trout"),
    ("Do you know anything about fishing?", "trout"),
    ("What will the weather be?", "cloud"),
    ("What of the weather?", "cloud"),
    ("A word about the weather?", "cloud"),
    ("Talk about the weather.", "cloud"),
    ("What can you tell me about the weather?", "cloud"),
    ("Do you know anything about the weather?", "cloud"),
    ("How hard is the winter?", "frozen"),
    ("Tell me about winter.", "frozen"),
    ("Say something about winter.", "frozen"),
    ("Let us talk about winter.", "frozen"),
    ("What can you tell me about winter?", "frozen"),
    ("Do you know anything about winter?", "frozen"),
    ("When is the water high?", "flood"),
    ("What can you tell me about spring?", "flood"),
    ("Do you know anything about spring?", "flood"),
    ("Do you like the summer?", "shallow"),
    ("Speak of summer.", "shallow"),
    ("What can you tell me about summer?", "shallow"),
    ("Do you know anything about summer?", "shallow"),
    ("Is autumn a quiet time?", "leaves"),
    ("Speak of autumn.", "leaves"),
    ("And autumn?", "leaves"),
    ("Say something about autumn.", "leaves"),
    ("A word about autumn?", "leaves"),
    ("What can you tell me about autumn?", "leaves"),
    ("Do you know anything about autumn?", "leaves"),
    ("Will you row me over tonight?", "lamp"),
    ("What can you tell me about the night?", "lamp"),
    ("Do you know anything about the night?", "lamp"),
    ("Are you up early?", "mist"),
    ("And the morning?", "mist"),
    ("A word about the morning?", "mist"),
    ("Talk about the morning.", "mist"),
    ("What can you tell me about the morning?", "mist"),
    ("Do you know anything about the morning?", "mist"),
    ("Do you have a wife?", "agnes"),
    ("What of your wife?", "agnes"),
    ("What about your wife?", "agnes"),
    ("What have you to say of your wife?", "agnes"),
    ("Talk about your wife.", "agnes"),
    ("What can you tell me about your wife?", "agnes"),
    ("Do you know anything about your wife?", "agnes"),
    ("Do you have any children?", "sons"),
    ("A word about your children?", "sons"),
    ("What can you tell me about your children?", "sons"),
    ("Do you know anything about your children?", "sons"),
    ("Whose dog is this?", "rufus"),
    ("Tell me about your dog.", "rufus"),
    ("And your dog?", "rufus"),
    ("What about your dog?", "rufus"),
    ("Say something about your dog.", "rufus"),
    ("What can you tell me about your dog?", "rufus"),
    ("Do you know anything about your dog?", "rufus"),
    ("What about the dog?", "rufus"),
    ("I would hear about the dog.", "rufus"),
    ("A word about the dog?", "rufus"),
    ("What can you tell me about the dog?", "rufus"),
    ("Do you know anything about the dog?", "rufus"),
    ("Do you have something to eat?", "cheese"),
    ("What of food?", "cheese"),
    ("Say something about food.", "cheese"),
    ("Talk about food.", "cheese"),
    ("What can you tell me about food?", "cheese"),
    ("Do you know anything about food?", "cheese"),
    ("Tell me about your supper.", "cheese"),
    ("What of your supper?", "cheese"),
    ("And your supper?", "cheese"),
    ("What about your supper?", "cheese"),
    ("What can you tell me about your supper?", "cheese"),
    ("Do you know anything about your supper?", "cheese"),
    ("Is there anything to drink?", "cider"),
    ("And drink?", "cider"),
    ("Say something about drink.", "cider"),
    ("What can you tell me about drink?", "cider"),
    ("Do you know anything about drink?", "cider"),
    ("Do you live near here?", "cottage"),
    ("Tell me about your house.", "cottage"),
    ("I would hear about your house.", "cottage"),
    ("Talk about your house.", "cottage"),
    ("What can you tell me about your house?", "cottage"),
    ("Do you know anything about your house?", "cottage"),
    ("How many years have you lived?", "sixty"),
    ("Tell me about your age.", "sixty"),
    ("Let us talk about your age.", "sixty"),
    ("What can you tell me about your age?", "sixty"),
    ("Do you know anything about your age?", "sixty"),
    ("How many years have you been a ferryman?", "thirty"),
    ("What can you tell me about your years here?", "thirty"),
    ("Do you know anything about your years here?", "thirty"),
    ("What shall I find on the other side?", "orchard"),
    ("What of the far side?", "orchard"),
    ("What have you to say of the far side?", "orchard"),
    ("Talk about the far side.", "orchard"),
    ("What can you tell me about the far side?", "orchard"),
    ("Do you know anything about the far side?", "orchard"),
    ("And the other side?", "orchard"),
    ("What about the other side?", "orchard"),
    ("What can you tell me about the other side?", "orchard"),
    ("Do you know anything about the other side?", "orchard"),
    ("How far is it to the village?", "smithy"),
    ("What can you tell me about the village?", "smithy"),
    ("Do you know anything about the village?", "smithy"),
    ("Would you like a bridge here?", "mason"),
    ("What about a bridge?", "mason"),
    ("I would hear about a bridge.", "mason"),
    ("What can you tell me about a bridge?", "mason"),
    ("Do you know anything about a bridge?", "mason"),
    ("What of the bridge?", "mason"),
    ("Say something about the bridge.", "mason"),
    ("I would hear about the bridge.", "mason"),
    ("Talk about the bridge.", "mason"),
    ("What can you tell me about the bridge?", "mason"),
    ("Do you know anything about the bridge?", "mason"),
    ("Will you carry my horse?", "blanket"),
    ("What of my horse?", "blanket"),
    ("And my horse?", "blanket"),
    ("Talk about my horse.", "blanket"),
    ("What can you tell me about my horse?", "blanket"),
    ("Do you know anything about my horse?", "blanket"),
    ("What about horses?", "blanket"),
    ("I would hear about horses.", "blanket"),
    ("What can you tell me about horses?", "blanket"),
    ("Do you know anything about horses?", "blanket"),
    ("Will you carry sheep?", "fleece"),
    ("What can you tell me about sheep?", "fleece"),
    ("Do you know anything about sheep?", "fleece"),
    ("Are there any birds?", "swans"),
    ("What have you to say of the birds?", "swans"),
    ("Talk about the birds.", "swans"),
    ("What can you tell me about the birds?", "swans"),
    ("Do you know anything about the birds?", "swans"),
    ("What kind of tree is this?", "alders"),
    ("Talk about the trees.", "alders"),
    ("What can you tell me about the trees?", "alders"),
    ("Do you know anything about the trees?", "alders"),
    ("What of that tree?", "alders"),
    ("What about that tree?", "alders"),
    ("A word about that tree?", "alders"),
    ("What can you tell me about that tree?", "alders"),
    ("Do you know anything about that tree?", "alders"),
    ("Can I pick the flowers?", "lilies"),
    ("What of the flowers?", "lilies"),
    ("Speak of the flowers.", "lilies"),
    ("What can you tell me about the flowers?", "lilies"),
    ("Do you know anything about the flowers?", "lilies"),
    ("Which star is that?", "northern"),
    ("Tell me about the stars.", "northern"),
    ("Speak of the stars.", "northern"),
    ("What can you tell me about the stars?", "northern"),
    ("Do you know anything about the stars?", "northern"),
    ("Can you see the moon?", "silver"),
    ("Tell me about the moon.", "silver"),
    ("What about the moon?", "silver"),
    ("What can you tell me about the moon?", "silver"),
    ("Do you know anything about the moon?", "silver"),
    ("Does the sun burn you?", "hat"),
    ("Speak of the sun.", "hat"),
    ("Let us talk about the sun.", "hat"),
    ("What can you tell me about the sun?", "hat"),
    ("Do you know anything about the sun?", "hat"),
    ("Is there much wind?", "east"),
    ("Let us talk about the wind.", "east"),
    ("What can you tell me about the wind?", "east"),
    ("Do you know anything about the wind?", "east"),
    ("Is it going to rain?", "hood"),
    ("I would hear about the rain.", "hood"),
    ("Talk about the rain.", "hood"),
    ("Let us talk about the rain.", "hood"),
    ("What can you tell me about the rain?", "hood"),
    ("Do you know anything about the rain?", "hood"),
    ("When does the snow come?", "shovel"),
    ("What can you tell me about snow?", "shovel"),
    ("Do you know anything about snow?", "shovel"),
    ("Are you lost in a fog?", "horn"),
    ("Let us talk about fog.", "horn"),
    ("What can you tell me about fog?", "horn"),
    ("Do you know anything about fog?", "horn"),
    ("Is there a ghost here?", "drowned"),
    ("Tell me about ghosts.", "drowned"),
    ("What have you to say of ghosts?", "drowned"),
    ("I would hear about ghosts.", "drowned"),
    ("What can you tell me about ghosts?", "drowned"),
    ("Do you know anything about ghosts?", "drowned"),
    ("Has a king ever come here?", "barge"),
    ("What of the king?", "barge"),
    ("And the king?", "barge"),
    ("What can you tell me about the king?", "barge"),
    ("Do you know anything about the king?", "barge"),
    ("Are there soldiers near?", "helmets"),
    ("Speak of soldiers.", "helmets"),
    ("Talk about soldiers.", "helmets"),
    ("What can you tell me about soldiers?", "helmets"),
    ("Do you know anything about soldiers?", "helmets"),
    ("Is there a thief on this road?", "pole"),
    ("What of thieves?", "pole"),
    ("Talk about thieves.", "pole"),
    ("What can you tell me about thieves?", "pole"),
    ("Do you know anything about thieves?", "pole"),
    ("Can you sing for me?", "whistle"),
    ("I would hear about songs.", "whistle"),
    ("What can you tell me about songs?", "whistle"),
    ("Do you know anything about songs?", "whistle"),
    ("What can you tell me about your song?", "whistle"),
    ("Do you know anything about your song?", "whistle"),
    ("Can you tell a story?", "mermaid"),
    ("Tell me about stories.", "mermaid"),
    ("What can you tell me about stories?", "mermaid"),
    ("Do you know anything about stories?", "mermaid"),
    ("Tell me about a story.", "mermaid"),
    ("What of a story?", "mermaid"),
    ("Say something about a story.", "mermaid"),
    ("What can you tell me about a story?", "mermaid"),
    ("Do you know anything about a story?", "mermaid"),
    ("Which book do you have?", "psalter"),
    ("Let us talk about books.", "psalter"),
    ("What can you tell me about books?", "psalter"),
    ("Do you know anything about books?", "psalter"),
    ("Where did you learn to row?", "grandfather"),
    ("Say something about your teacher.", "grandfather"),
    ("What can you tell me about your teacher?", "grandfather"),
    ("Do you know anything about your teacher?", "grandfather"),
    ("How far is it to the sea?", "gulls"),
    ("Say something about the sea.", "gulls"),
    ("I would hear about the sea.", "gulls"),
    ("Talk about the sea.", "gulls"),
    ("Let us talk about the sea.", "gulls"),
    ("What can you tell me about the sea?", "gulls"),
    ("Do you know anything about the sea?", "gulls"),
    ("Where does the water come from?", "mountain"),
    ("Tell me about the source of the river.", "mountain"),
    ("What of the source of the river?", "mountain"),
    ("What can you tell me about the source of the river?", "mountain"),
    ("Do you know anything about the source of the river?", "mountain"),
    ("Will the rope break?", "knot"),
    ("And the rope?", "knot"),
    ("What can you tell me about the rope?", "knot"),
    ("Do you know anything about the rope?", "knot"),
    ("Did an oar ever break?", "spruce"),
    ("Tell me about your oars.", "spruce"),
    ("Talk about your oars.", "spruce"),
    ("What can you tell me about your oars?", "spruce"),
    ("Do you know anything about your oars?", "spruce"),
    ("And the oars?", "spruce"),
    ("What about the oars?", "spruce"),
    ("What can you tell me about the oars?", "spruce"),
    ("Do you know anything about the oars?", "spruce"),
    ("Is there any danger?", "whirlpool"),
    ("What of danger?", "whirlpool"),
    ("Say something about danger.", "whirlpool"),
    ("Talk about danger.", "whirlpool"),
    ("What can you tell me about danger?", "whirlpool"),
    ("Do you know anything about danger?", "whirlpool"),
    ("Let us talk about the rocks.", "whirlpool"),
    ("What can you tell me about the rocks?", "whirlpool"),
    ("Do you know anything about the rocks?", "whirlpool"),
    ("Are you a good swimmer?", "stone"),
    ("What can you tell me about swimming?", "stone"),
    ("Do you know anything about swimming?", "stone"),
    ("Are those your clothes?", "leather"),
    ("What can you tell me about your clothes?", "leather"),
    ("Do you know anything about your clothes?", "leather"),
    ("Are you afraid of anything?", "lightning"),
    ("What can you tell me about fear?", "lightning"),
    ("Do you know anything about fear?", "lightning"),
    ("What do you love most?", "sunset"),
    ("Tell me about joy.", "sunset"),
    ("What about joy?", "sunset"),
    ("What can you tell me about joy?", "sunset"),
    ("Do you know anything about joy?", "sunset"),
    ("At what hour do you begin?", "cockcrow"),
    ("What of your hours?", "cockcrow"),
    ("And your hours?", "cockcrow"),
    ("What can you tell me about your hours?", "cockcrow"),
    ("Do you know anything about your hours?", "cockcrow"),
    ("When do you take a rest?", "nap"),
    ("What can you tell me about rest?", "nap"),
    ("Do you know anything about rest?", "nap"),
    ("On which day is the market held?", "thursday"),
    ("And the market?", "thursday"),
    ("What have you to say of the market?", "thursday"),
    ("Let us talk about the market.", "thursday"),
    ("What can you tell me about the market?", "thursday"),
    ("Do you know anything about the market?", "thursday"),
    ("How do you feel today?", "knees"),
    ("What of your health?", "knees"),
    ("And your health?", "knees"),
    ("What have you to say of your health?", "knees"),
    ("Talk about your health.", "knees"),
    ("Let us talk about your health.", "knees"),
    ("What can you tell me about your health?", "knees"),
    ("Do you know anything about your health?", "knees"),
)
WORDS = """
aac abash abet adad adapa adige aditi affix agone ahead alate alibi alike aloft amor anvil apery
apsis arava asdic ashe atole aught bag barde baud bbs bedew beep beg belem beroe besot bevel bid
bise bns boner bonn boor bose bpm brisk budai bung camel cave cedi cense cgs check china cjd clog
coax codon cohn copse coupe cpu crazy creon croon cusp cynic daft dairy debit dell dent derv dhole
dint dna doh dolt dove down draba dregs drier drool drub dude dumps eas edwy eland event extra eyry
fagin faro fee feed felis fey finn fixer fizzy flask fool frigg ftc fussy galax gam gaudi gay gean
gelid genre geum gibbs give glans glenn glory gout grad guyot gypsy hammy happy heft heme hep hewer
hint hobby hoper hops hound hurl idiot iga ileus iliac inh ivp iyar jati joint kadai kelp king
kovno kwai leu lid lie ligol lima liman lopid lulz mag mami mansi map mara mass means meir meow
merge mesic minx moose moue move mucin munch muon muse nab natal neel net nevis nile nixon nod
nymph oder okra omega once onion ootid ore osha ottar ovoid owl paper paseo phon piety poa poll
pope pore porno prise prop ptyas pul pule pung pure query queue ramee rana raze redux reedy riata
rig rime robot roma sail say scour scrub sebe serb shade shang shiv shoal shoat shute skag slave
slide sloop slush soak soma sorus soup soya spf spiny stair stale stamp stare stela stoic stoop
sudra surd swale swamp swede swob tael taft tally tango tawny tench text theca tibet tibur tito
todea top trad tripe tuft turnt turps tyto undo unit vaduz vagal var vaunt veal vila vivid whizz
wight woof woozy word worn wrap wto yeti yhvh yogic zloty
""".split()
QUESTIONS = (  # that the engine answers
    "What of that tree?",
    "Do you know anything about the other side?",
    "Talk about your health.",
    "What of the king?",
    "And autumn?",
    "Do you know anything about the moon?",
    "What name did your mother give you?",
    "Is this a strong boat?",
    "backwards: e s p y",
    "backwards: e l a n d",
    "backwards: f l a s k",
    "backwards: l o p i d",
    "backwards: h e a d y",
    "backwards: b r e a d",
    "15+60",
    "23+58",
    "32+83",
    "56+85",
    "41+93",
    "17+82",
)
VERSES = [
    " ".join(verse.split())
    for verse in """
Son of man, behold, they of the house of Israel say, The vision that he seeth is for many days to
come, and he prophesieth of the times that are far off.

And the king of the south shall be moved with choler, and shall come forth and fight with him, even
with the king of the north: and he shall set forth a great multitude; but the multitude shall be
given into his hand.

The trees of the LORD are full of sap; the cedars of Lebanon, which he hath planted;

With him will I speak mouth to mouth, even apparently, and not in dark speeches; and the similitude
of the LORD shall he behold: wherefore then were ye not afraid to speak against my servant Moses?

And Rachel and Leah answered and said unto him, Is there yet any portion or inheritance for us in
our father's house?

And say unto them, Thus saith the LORD of hosts, the God of Israel; Behold, I will send and take
Nebuchadrezzar the king of Babylon, my servant, and will set his throne upon these stones that I
have hid; and he shall spread his royal pavilion over them.

And he was sore athirst, and called on the LORD, and said, Thou hast given this great deliverance
into the hand of thy servant: and now shall I die for thirst, and fall into the hand of the
uncircumcised?

And the name of the second called he Ephraim: For God hath caused me to be fruitful in the land of
my affliction.

Can a man take fire in his bosom, and his clothes not be burned?

The voice thereof shall go like a serpent; for they shall march with an army, and come against her
with axes, as hewers of wood.

Some men's sins are open beforehand, going before to judgment; and some men they follow after.

In the third month, when the children of Israel were gone forth out of the land of Egypt, the same
day came they into the wilderness of Sinai.

Let no man therefore despise him: but conduct him forth in peace, that he may come unto me: for I
look for him with the brethren.

He said unto them, Have ye received the Holy Ghost since ye believed? And they said unto him, We
have not so much as heard whether there be any Holy Ghost.

When Moses saw it, he wondered at the sight: and as he drew near to behold it, the voice of the
Lord came unto him,

And the coast shall go down from Shepham to Riblah, on the east side of Ain; and the border shall
descend, and shall reach unto the side of the sea of Chinnereth eastward:

Thou preparedst room before it, and didst cause it to take deep root, and it filled the land.

This they said, tempting him, that they might have to accuse him. But Jesus stooped down, and with
his finger wrote on the ground, as though he heard them not.

Destruction and misery are in their ways:

Carry neither purse, nor scrip, nor shoes: and salute no man by the way.

To execute judgment upon all, and to convince all that are ungodly among them of all their ungodly
deeds which they have ungodly committed, and of all their hard speeches which ungodly sinners have
spoken against him.

Now therefore write ye this song for you, and teach it the children of Israel: put it in their
mouths, that this song may be a witness for me against the children of Israel.

Who, when they came to Cæsarea, and delivered the epistle to the governor, presented Paul also
before him.

And they compel one Simon a Cyrenian, who passed by, coming out of the country, the father of
Alexander and Rufus, to bear his cross.

The king spake, and said, Is not this great Babylon, that I have built for the house of the kingdom
by the might of my power, and for the honour of my majesty?

Even as I sware unto thee by the LORD God of Israel, saying, Assuredly Solomon thy son shall reign
after me, and he shall sit upon my throne in my stead; even so will I certainly do this day.

But continue thou in the things which thou hast learned and hast been assured of, knowing of whom
thou hast learned them;

And they carried the ark of God in a new cart out of the house of Abinadab: and Uzza and Ahio drave
the cart.

As unknown, and yet well known; as dying, and, behold, we live; as chastened, and not killed;

Now therefore stand still, that I may reason with you before the LORD of all the righteous acts of
the LORD, which he did to you and to your fathers.

Judge me, O God, and plead my cause against an ungodly nation: O deliver me from the deceitful and
unjust man.

Glory to God in the highest, and on earth peace, good will toward men.

Better is an handful with quietness, than both the hands full with travail and vexation of spirit.

Then went the Pharisees, and took counsel how they might entangle him in his talk.

Moreover he made an altar of brass, twenty cubits the length thereof, and twenty cubits the breadth
thereof, and ten cubits the height thereof.

Then thou shalt say unto thy son, We were Pharaoh's bondmen in Egypt; and the LORD brought us out
of Egypt with a mighty hand:

But thou shalt open thine hand wide unto him, and shalt surely lend him sufficient for his need, in
that which he wanteth.

Then the tribe of Naphtali: and the captain of the children of Naphtali shall be Ahira the son of
Enan.

Remove from me the way of lying: and grant me thy law graciously.

Of clean beasts, and of beasts that are not clean, and of fowls, and of every thing that creepeth
upon the earth,

And your altars shall be desolate, and your images shall be broken: and I will cast down your slain
men before your idols.

And there were three sons of Zeruiah there, Joab, and Abishai, and Asahel: and Asahel was as light
of foot as a wild roe.

Yet for love's sake I rather beseech thee, being such an one as Paul the aged, and now also a
prisoner of Jesus Christ.

I the LORD search the heart, I try the reins, even to give every man according to his ways, and
according to the fruit of his doings.

My goodness, and my fortress; my high tower, and my deliverer; my shield, and he in whom I trust;
who subdueth my people under me.

For it shall be, that on the day thou goest out, and passest over the brook Kidron, thou shalt know
for certain that thou shalt surely die: thy blood shall be upon thine own head.

I the Preacher was king over Israel in Jerusalem.

And the border was drawn thence, and compassed the corner of the sea southward, from the hill that
lieth before Beth-horon southward; and the goings out thereof were at Kirjath-baal, which is
Kirjath-jearim, a city of the children of Judah: this was the west quarter.

Surely there was not holden such a passover from the days of the judges that judged Israel, nor in
all the days of the kings of Israel, nor of the kings of Judah;

There dwelt men of Tyre also therein, which brought fish, and all manner of ware, and sold on the
sabbath unto the children of Judah, and in Jerusalem.

And Jacob sod pottage: and Esau came from the field, and he was faint:

And of the Hebronites, Hashabiah and his brethren, men of valour, a thousand and seven hundred,
were officers among them of Israel on this side Jordan westward in all the business of the LORD,
and in the service of the king.

Holding forth the word of life; that I may rejoice in the day of Christ, that I have not run in
vain, neither laboured in vain.

Lord, how long wilt thou look on? rescue my soul from their destructions, my darling from the
lions.

And she brought it before Saul, and before his servants; and they did eat. Then they rose up, and
went away that night.

And Hezekiah prayed unto the LORD, saying,

But he himself turned again from the quarries that were by Gilgal, and said, I have a secret errand
unto thee, O king: who said, Keep silence. And all that stood by him went out from him.

For thou, O LORD of hosts, God of Israel, hast revealed to thy servant, saying, I will build thee
an house: therefore hath thy servant found in his heart to pray this prayer unto thee.

Wherewithal shall a young man cleanse his way? by taking heed thereto according to thy word.

Yet a little while, and the world seeth me no more; but ye see me: because I live, ye shall live
also.

Let there be none to extend mercy unto him: neither let there be any to favour his fatherless
children.

Laying up in store for themselves a good foundation against the time to come, that they may lay
hold on eternal life.

But in the first year of Cyrus the king of Babylon the same king Cyrus made a decree to build this
house of God.

Now the rest of the acts of Jehu, and all that he did, and all his might, are they not written in
the book of the chronicles of the kings of Israel?

And the wall of the city had twelve foundations, and in them the names of the twelve apostles of
the Lamb.

Then the proud waters had gone over our soul.

And it came to pass, as he sowed, some fell by the way side, and the fowls of the air came and
devoured it up.

And when thou art come in, thou shalt shut the door upon thee and upon thy sons, and shalt pour out
into all those vessels, and thou shalt set aside that which is full.

If there be laid on him a sum of money, then he shall give for the ransom of his life whatsoever is
laid upon him.

And I will make all my mountains a way, and my highways shall be exalted.

Whose adorning let it not be that outward adorning of plaiting the hair, and of wearing of gold, or
of putting on of apparel;

Afterward he brought me to the temple, and measured the posts, six cubits broad on the one side,
and six cubits broad on the other side, which was the breadth of the tabernacle.

Also Hosah, of the children of Merari, had sons; Simri the chief, (for though he was not the
firstborn, yet his father made him the chief;)

Is it a small thing that thou hast brought us up out of a land that floweth with milk and honey, to
kill us in the wilderness, except thou make thyself altogether a prince over us?

All that pass by clap their hands at thee; they hiss and wag their head at the daughter of
Jerusalem, saying, Is this the city that men call The perfection of beauty, The joy of the whole
earth?

Therefore let us not sleep, as do others; but let us watch and be sober.

How much less man, that is a worm? and the son of man, which is a worm?

But if he thrust him suddenly without enmity, or have cast upon him any thing without laying of
wait,

And it shall come to pass, that in all the land, saith the LORD, two parts therein shall be cut off
and die; but the third shall be left therein.

Behold, a people shall come from the north, and a great nation, and many kings shall be raised up
from the coasts of the earth.

And the LORD appointed a set time, saying, To morrow the LORD shall do this thing in the land.

And why beholdest thou the mote that is in thy brother's eye, but perceivest not the beam that is
in thine own eye?

And the same day Pilate and Herod were made friends together: for before they were at enmity
between themselves.

Then Solomon came from his journey to the high place that was at Gibeon to Jerusalem, from before
the tabernacle of the congregation, and reigned over Israel.

The hangings of the one side of the gate were fifteen cubits; their pillars three, and their
sockets three.

As when the melting fire burneth, the fire causeth the waters to boil, to make thy name known to
thine adversaries, that the nations may tremble at thy presence!

Surely there shall not one of these men of this evil generation see that good land, which I sware
to give unto your fathers,

And David put his hand in his bag, and took thence a stone, and slang it, and smote the Philistine
in his forehead, that the stone sunk into his forehead; and he fell upon his face to the earth.

Who will rise up for me against the evildoers? or who will stand up for me against the workers of
iniquity?

And Mikloth begat Shimeah. And these also dwelt with their brethren in Jerusalem, over against
them.

He shall enter into peace: they shall rest in their beds, each one walking in his uprightness.

But when the Jews saw the multitudes, they were filled with envy, and spake against those things
which were spoken by Paul, contradicting and blaspheming.

The rich man is wise in his own conceit; but the poor that hath understanding searcheth him out.

Trouble and anguish shall make him afraid; they shall prevail against him, as a king ready to the
battle.

And I will plead against him with pestilence and with blood; and I will rain upon him, and upon his
bands, and upon the many people that are with him, an overflowing rain, and great hailstones, fire,
and brimstone.

And he looked up, and saw the rich men casting their gifts into the treasury.

Thy servant will go a little way over Jordan with the king: and why should the king recompense it
me with such a reward?

I thank my God always on your behalf, for the grace of God which is given you by Jesus Christ;

Is not the meat cut off before our eyes, yea, joy and gladness from the house of our God?

Only Jonathan the son of Asahel and Jahaziah the son of Tikvah were employed about this matter: and
Meshullam and Shabbethai the Levite helped them.

The grave; and the barren womb; the earth that is not filled with water; and the fire that saith
not, It is enough.

That your rejoicing may be more abundant in Jesus Christ for me by my coming to you again.

And Joash the king of Israel took Amaziah king of Judah, the son of Joash, the son of Jehoahaz, at
Beth-shemesh, and brought him to Jerusalem, and brake down the wall of Jerusalem from the gate of
Ephraim to the corner gate, four hundred cubits.

Return, return, O Shulamite; return, return, that we may look upon thee. What will ye see in the
Shulamite? As it were the company of two armies.

But Jehoshaphat said, Is there not here a prophet of the LORD, that we may enquire of the LORD by
him? And one of the king of Israel's servants answered and said, Here is Elisha the son of Shaphat,
which poured water on the hands of Elijah.

But for his kin, that is near unto him, that is, for his mother, and for his father, and for his
son, and for his daughter, and for his brother,

That he would grant unto us, that we being delivered out of the hand of our enemies might serve him
without fear,

Who was delivered for our offences, and was raised again for our justification.

When the wicked, even mine enemies and my foes, came upon me to eat up my flesh, they stumbled and
fell.

And Simeon blessed them, and said unto Mary his mother, Behold, this child is set for the fall and
rising again of many in Israel; and for a sign which shall be spoken against;

Being enriched in every thing to all bountifulness, which causeth through us thanksgiving to God.

The wise man's eyes are in his head; but the fool walketh in darkness: and I myself perceived also
that one event happeneth to them all.

And Jesus answering said unto him, Suffer it to be so now: for thus it becometh us to fulfil all
righteousness. Then he suffered him.

None eye pitied thee, to do any of these unto thee, to have compassion upon thee; but thou wast
cast out in the open field, to the lothing of thy person, in the day that thou wast born.

Shall iron break the northern iron and the steel?

Or when saw we thee sick, or in prison, and came unto thee?

Whom they set before the apostles: and when they had prayed, they laid their hands on them.

Hear my voice according unto thy lovingkindness: O LORD, quicken me according to thy judgment.

So I took the chief of your tribes, wise men, and known, and made them heads over you, captains
over thousands, and captains over hundreds, and captains over fifties, and captains over tens, and
officers among your tribes.

And Leah also with her children came near, and bowed themselves: and after came Joseph near and
Rachel, and they bowed themselves.

And Israel took his journey with all that he had, and came to Beer-sheba, and offered sacrifices
unto the God of his father Isaac.

Behold, a virgin shall be with child, and shall bring forth a son, and they shall call his name
Emmanuel, which being interpreted is, God with us.

And Judas also, which betrayed him, knew the place: for Jesus ofttimes resorted thither with his
disciples.

And said, For this cause shall a man leave father and mother, and shall cleave to his wife: and
they twain shall be one flesh?

And when inquisition was made of the matter, it was found out; therefore they were both hanged on a
tree: and it was written in the book of the chronicles before the king.

Then let them take a young bullock with his meat offering, even fine flour mingled with oil, and
another young bullock shalt thou take for a sin offering.

If then God so clothe the grass, which is to day in the field, and to morrow is cast into the oven;
how much more will he clothe you, O ye of little faith?

Then Daniel requested of the king, and he set Shadrach, Meshach, and Abed-nego, over the affairs of
the province of Babylon: but Daniel sat in the gate of the king.

And now therefore thus saith the LORD, the God of Israel, concerning this city, whereof ye say, It
shall be delivered into the hand of the king of Babylon by the sword, and by the famine, and by the
pestilence;

And Hadad found great favour in the sight of Pharaoh, so that he gave him to wife the sister of his
own wife, the sister of Tahpenes the queen.

But wild beasts of the desert shall lie there; and their houses shall be full of doleful creatures;
and owls shall dwell there, and satyrs shall dance there.

Mine eye also is dim by reason of sorrow, and all my members are as a shadow.

And they said unto him, We can. And Jesus said unto them, Ye shall indeed drink of the cup that I
drink of; and with the baptism that I am baptized withal shall ye be baptized:

And they set themselves in the midst of that parcel, and delivered it, and slew the Philistines;
and the LORD saved them by a great deliverance.

And it came to pass on the morrow, when the Philistines came to strip the slain, that they found
Saul and his sons fallen in mount Gilboa.

Then the angel that talked with me answered and said unto me, Knowest thou not what these be? And I
said, No, my lord.

This is the generation of them that seek him, that seek thy face, O Jacob. Selah.

And I will gather the remnant of my flock out of all countries whither I have driven them, and will
bring them again to their folds; and they shall be fruitful and increase.

And Jonathan caused David to swear again, because he loved him: for he loved him as he loved his
own soul.

Greet all the brethren with an holy kiss.

When he was removed out of the highway, all the people went on after Joab, to pursue after Sheba
the son of Bichri.

Humble yourselves in the sight of the Lord, and he shall lift you up.

And a stone of stumbling, and a rock of offence, even to them which stumble at the word, being
disobedient: whereunto also they were appointed.

And Jacob told Rachel that he was her father's brother, and that he was Rebekah's son: and she ran
and told her father.

A fool also is full of words: a man cannot tell what shall be; and what shall be after him, who can
tell him?

For if these things be in you, and abound, they make you that ye shall neither be barren nor
unfruitful in the knowledge of our Lord Jesus Christ.

As soon as the morning was light, the men were sent away, they and their asses.

Of the tribe of Dan, Ammiel the son of Gemalli.

And the spirit of Egypt shall fail in the midst thereof; and I will destroy the counsel thereof:
and they shall seek to the idols, and to the charmers, and to them that have familiar spirits, and
to the wizards.

But other fell into good ground, and brought forth fruit, some an hundredfold, some sixtyfold, some
thirtyfold.

Therefore hear, ye nations, and know, O congregation, what is among them.

And they took their journey from Succoth, and encamped in Etham, in the edge of the wilderness.

And Adonijah feared because of Solomon, and arose, and went, and caught hold on the horns of the
altar.

Saying, God hath forsaken him: persecute and take him; for there is none to deliver him.

Moreover I will deliver all the strength of this city, and all the labours thereof, and all the
precious things thereof, and all the treasures of the kings of Judah will I give into the hand of
their enemies, which shall spoil them, and take them, and carry them to Babylon.

And he said to the king of Israel, Put thine hand upon the bow. And he put his hand upon it: and
Elisha put his hands upon the king's hands.

In that day shall there be a highway out of Egypt to Assyria, and the Assyrian shall come into
Egypt, and the Egyptian into Assyria, and the Egyptians shall serve with the Assyrians.

Behold, I go forward, but he is not there; and backward, but I cannot perceive him:

And call no man your father upon the earth: for one is your Father, which is in heaven.

All the males among the children of Aaron shall eat of it. It shall be a statute for ever in your
generations concerning the offerings of the LORD made by fire: every one that toucheth them shall
be holy.
""".split("\n\n")
]
